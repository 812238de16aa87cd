#include "cli/commands.h"

#include <fmt/format.h>

#include <cstdio>

#include "cli/files.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "passes/pipeline.h"

namespace antegrad::cli {
namespace {

ir::Graph read_graph(const std::string& path) { return ir::parse(read_file(path)); }

void drop_provenance(ir::Graph& graph) {
  for (auto& node : graph.nodes) node.provenance = {};
}

}  // namespace

std::string run_print(const PrintOptions& options) {
  auto graph = read_graph(options.file);
  ir::verify(graph);
  if (options.compact) drop_provenance(graph);
  return ir::print(graph);
}

std::string run_opt(const OptOptions& options) {
  std::vector<passes::Pass> passes;
  for (const auto& name : options.passes) passes.push_back(passes::find_pass(name));
  if (passes.empty()) passes = passes::default_pipeline();
  auto graph = read_graph(options.file);
  const auto records = passes::run_pipeline(graph, passes, {options.disabled, options.verify, false});
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

}  // namespace antegrad::cli
