#include "cli/commands.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "antegrad/error.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "passes/pipeline.h"

namespace antegrad::cli {
namespace {

Error io_error(const std::string& fact, const std::string& way_out) {
  return Error(ErrorCode::Io, "cli", fmt::format("{}: {}", fact, std::strerror(errno)), way_out);
}

ir::Graph read_graph(const std::string& path) { return ir::parse(read_file(path)); }

void drop_provenance(ir::Graph& graph) {
  for (auto& node : graph.nodes) node.provenance = {};
}

}  // namespace

std::string read_file(const std::string& path) {
  const bool standard = path == "-";
  const auto close = [](std::FILE* file) {
    if (file != stdin) std::fclose(file);
  };
  const std::unique_ptr<std::FILE, decltype(close)> file(standard ? stdin : std::fopen(path.c_str(), "rb"),
                                                         close);
  const std::string way_out = "Name a file that can be read, or - for standard input";
  const auto what = standard ? std::string("standard input") : fmt::format("\"{}\"", path);
  if (file == nullptr) throw io_error(fmt::format("cannot open {}", what), way_out);
  std::string text;
  char buffer[1 << 16];
  for (size_t count = 0; (count = std::fread(buffer, 1, sizeof(buffer), file.get())) > 0;)
    text.append(buffer, count);
  if (std::ferror(file.get()) != 0) throw io_error(fmt::format("cannot read {}", what), way_out);
  return text;
}

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

void write_output(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw io_error("cannot write to standard output", "Make room, or keep the reader of the pipe alive");
}

}  // namespace antegrad::cli
