// From the graphs of three models to the text of all their kernels, compared with files in
// tests/data/programs.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "codegen/cpu/kernel_source.h"
#include "codegen/text/expression.h"
#include "graph/golden.h"
#include "ir/text.h"
#include "passes/pipelines.h"
#include "schedule/program.h"

namespace antegrad {
namespace {

/// Parses the graphs of a file in order.
std::vector<ir::Graph> read_graphs(const std::filesystem::path& path) {
  const auto text = read_text(path);
  std::vector<ir::Graph> graphs;
  for (size_t at = 0; at < text.size();) {
    const auto end = text.find("\n}\n", at) + 3;
    graphs.push_back(ir::parse(text.substr(at, end - at)));
    at = end;
  }
  return graphs;
}

schedule::Program program_of(ir::Graph graph) {
  passes::run_pipeline(graph, passes::passes_of("before_fusion"), {});
  schedule::Settings settings;
  settings.supports = codegen::expression_supported;
  return schedule::schedule(graph, settings);
}

std::string describe(const schedule::Program& program) {
  std::string text = "// " + program.graph.name + ", " + std::string(ir::name(program.graph.stage)) + "\n";
  for (const auto& decision : program.decisions)
    text += "//   " + decision.what + (decision.why.empty() ? "" : ": " + decision.why) + "\n";
  for (const auto& kernel : program.kernels) text += "\n" + codegen::cpu::kernel_source(kernel);
  return text;
}

class ProgramGolden : public ::testing::TestWithParam<const char*> {};

TEST_P(ProgramGolden, SameCode) {
  const auto folder = std::filesystem::path(ANTEGRAD_SOURCE_DIR) / "tests/data/programs";
  std::string text;
  for (const auto& graph : read_graphs(folder / (std::string(GetParam()) + ".graphs")))
    text += describe(program_of(graph)) + "\n";
  const auto golden = folder / (std::string(GetParam()) + ".c");
  if (updating_golden()) std::ofstream(golden) << text;
  EXPECT_EQ(text, read_text(golden)) << "for an intended change: ANTEGRAD_UPDATE_GOLDEN=1";
}

TEST_P(ProgramGolden, TwiceTheSameBytes) {
  const auto path = std::filesystem::path(ANTEGRAD_SOURCE_DIR) / "tests/data/programs" /
                    (std::string(GetParam()) + ".graphs");
  for (const auto& graph : read_graphs(path))
    EXPECT_EQ(describe(program_of(graph)), describe(program_of(graph)));
}

INSTANTIATE_TEST_SUITE_P(Models, ProgramGolden, ::testing::Values("small", "mem", "pot"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace antegrad
