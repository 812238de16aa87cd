#include "cli/graph/commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>

#include "cli/errors.h"
#include "cli/files.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "passes/pipelines.h"

namespace antegrad::cli {
namespace {

ir::Graph read_graph(const std::string& path) { return ir::parse(read_file(path)); }

void drop_provenance(ir::Graph& graph) {
  for (auto& node : graph.nodes) node.provenance = {};
}

/// Clears the flags at these positions.
void clear_flags(std::vector<bool>& flags, const std::vector<size_t>& numbers, const char* of_what) {
  for (auto number : numbers) {
    if (number >= flags.size())
      throw UsageError("usage:opt",
                       fmt::format("there is no {} {}: the graph has {}", of_what, number, flags.size()),
                       "Count from 0");
    flags[number] = false;
  }
}

std::vector<passes::Pass> passes_for(const OptOptions& options, const ir::Graph& graph) {
  std::vector<passes::Pass> passes;
  for (const auto& name : options.passes) passes.push_back(passes::find_pass(name));
  if (options.pipeline.empty()) return passes;
  auto needs = passes::all_of(graph);
  clear_flags(needs.defined, options.undefined_tangents, "tangent");
  clear_flags(needs.wanted, options.unwanted_gradients, "output");
  return passes::passes_of(options.pipeline, needs);
}

}  // namespace

std::string run_print(const PrintOptions& options) {
  auto graph = read_graph(options.file);
  ir::verify(graph);
  if (options.compact) drop_provenance(graph);
  return ir::print(graph);
}

std::string run_opt(const OptOptions& options, const std::string& text) {
  for (const auto& name : options.passes) passes::find_pass(name);
  if (!options.pipeline.empty()) passes::find_pipeline(options.pipeline);
  auto graph = ir::parse(text);
  const auto records =
      passes::run_pipeline(graph, passes_for(options, graph), {options.disabled, options.verify, false});
  if (options.timing)
    for (const auto& record : records)
      fmt::print(stderr, "{:<24} {:>9.3f} ms  {}\n", record.pass, record.seconds * 1e3,
                 record.changed ? "changed" : "unchanged");
  return ir::print(graph);
}

void run_verify(const std::string& file) { ir::verify(read_graph(file)); }

std::string list_passes() {
  std::string text;
  for (const auto& pass : passes::all_passes()) text += fmt::format("{:<24} {}\n", pass.name, pass.summary);
  return text;
}

std::string list_pipelines() {
  std::string text;
  for (const auto& pipeline : passes::all_pipelines())
    text += fmt::format("{:<24} {}: {}\n", pipeline.name, pipeline.summary, fmt::join(pipeline.passes, ", "));
  return text;
}

}  // namespace antegrad::cli
