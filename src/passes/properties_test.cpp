// Properties of every pass, on random graphs: the result is valid and computes the same, the caller observes
// the same aliasing, and a second run changes nothing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "graph/interpret.h"
#include "graph/random_program.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "passes/pipelines.h"

namespace antegrad::passes {
namespace {

constexpr uint32_t kGraphs = 1500;

/// Each view must record the storage and the offset of the tensor that it views.
void check_views(const ir::Graph& graph) {
  for (const auto& node : graph.nodes) {
    const auto id = node.outputs.front();
    if (!graph.values[id].base.valid()) continue;
    const auto viewed = *node.args.front().as<ir::ValueId>();
    auto offset = graph.tensor_type(viewed).offset;
    if (node.op == "aten.slice.Tensor")
      offset = offset + *node.args[2].as<ir::Dim>() * graph.tensor_type(viewed).strides[0];
    ASSERT_EQ(graph.storage_of(viewed), graph.storage_of(id)) << ir::print(graph, node);
    ASSERT_EQ(graph.tensor_type(id).offset, offset) << ir::print(graph, node);
  }
}

void check_pass(const Pass& pass, const ir::Graph& original) {
  SCOPED_TRACE(fmt::format("{} on\n{}", pass.name, ir::print(original)));
  auto graph = original;
  const bool changed = pass.run(graph);
  ASSERT_NO_THROW(ir::verify(graph));
  SCOPED_TRACE(ir::print(graph));
  ASSERT_EQ(changed, ir::print(graph) != ir::print(original));
  ASSERT_EQ(interpret(graph), interpret(original));
  ASSERT_EQ(aliasing(graph), aliasing(original));
  ASSERT_EQ(graph.inputs, original.inputs);
  ASSERT_NO_FATAL_FAILURE(check_views(graph));
  ASSERT_FALSE(pass.run(graph));
}

class EveryPass : public ::testing::TestWithParam<Pass> {};

TEST_P(EveryPass, KeepsMeaningAndAliasing) {
  int changes = 0;
  for (uint32_t seed = 0; seed < kGraphs; ++seed) {
    const auto graph = random_program(seed, 3 + static_cast<int>(seed % 30));
    ASSERT_NO_THROW(ir::verify(graph)) << ir::print(graph);
    check_pass(GetParam(), graph);
    if (HasFatalFailure()) FAIL() << "seed " << seed;
    auto copy = graph;
    changes += GetParam().run(copy) ? 1 : 0;
  }
  EXPECT_GT(changes, static_cast<int>(kGraphs / 10)) << "the graphs give the pass too little to do";
}

// functional_rng adds an input and draws other numbers, unread_statistics concerns a single op: both have
// separate tests.
INSTANTIATE_TEST_SUITE_P(Passes, EveryPass,
                         ::testing::Values(find_pass("remove_noop"), find_pass("constant_folding"),
                                           find_pass("common_subexpressions"), find_pass("dead_code")),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(DefaultPipeline, KeepsMeaningAndAliasing) {
  for (uint32_t seed = 0; seed < kGraphs; ++seed) {
    const auto original = random_program(seed, 3 + static_cast<int>(seed % 30));
    auto graph = original;
    ASSERT_NO_THROW(run_pipeline(graph, functional_passes({.fused_rng = false}),
                                 {.disabled = {}, .verify = true, .keep_texts = false}));
    ASSERT_EQ(interpret(graph), interpret(original)) << ir::print(original) << ir::print(graph);
    ASSERT_EQ(aliasing(graph), aliasing(original)) << ir::print(original) << ir::print(graph);
  }
}

TEST(DefaultPipeline, LargeGraph) {
  const auto original = random_program(1, 10000);
  auto graph = original;
  run_pipeline(graph, functional_passes({.fused_rng = false}),
               {.disabled = {}, .verify = true, .keep_texts = false});
  EXPECT_LT(graph.nodes.size(), original.nodes.size());
  EXPECT_EQ(interpret(graph), interpret(original));
  EXPECT_EQ(aliasing(graph), aliasing(original));
}

}  // namespace
}  // namespace antegrad::passes
