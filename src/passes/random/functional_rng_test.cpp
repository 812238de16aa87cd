#include "passes/random/functional_rng.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "graph/pass_golden.h"
#include "graph/random_program.h"
#include "ir/ops.h"

namespace antegrad::passes {
namespace {

TEST(FunctionalRng, Golden) { check_golden("functional_rng"); }

ir::ValueId state_of(const ir::Graph& graph) {
  return std::ranges::find(graph.inputs, ir::InputRole::RngState, &ir::Input::role)->value;
}

bool draws_from_state(const ir::Node& node) { return node.op.starts_with("antegrad.random_"); }

/// The range of counters that a node of random_program uses; all results are f32 of constant sizes.
std::pair<int64_t, int64_t> counters(const ir::Graph& graph, const ir::Node& node) {
  const auto first = node.args[1].as<ir::Dim>()->constant();
  return {first, first + (graph.tensor_type(node.outputs[0]).numel().constant() + 3) / 4};
}

TEST(FunctionalRng, LeavesNoDrawAndSharesNoCounter) {
  int graphs_with_draws = 0;
  for (uint32_t seed = 0; seed < 500; ++seed) {
    const auto original = random_program(seed, 40);
    auto graph = original;
    const auto draws = std::ranges::count_if(original.nodes, [](const auto& n) { return n.effects.random; });
    ASSERT_EQ(functional_rng(graph), draws > 0);
    ASSERT_NO_THROW(ir::verify(graph)) << ir::print(graph);
    int64_t end_of_last = 0;
    int64_t found = 0;
    for (const auto& node : graph.nodes) {
      ASSERT_FALSE(node.effects.random) << ir::print(graph);
      if (!draws_from_state(node)) continue;
      const auto [first, end] = counters(graph, node);
      ASSERT_EQ(first, end_of_last) << ir::print(graph);
      ASSERT_EQ(*node.args[0].as<ir::ValueId>(), state_of(graph));
      end_of_last = end;
      ++found;
    }
    ASSERT_EQ(found, draws);
    graphs_with_draws += draws > 1 ? 1 : 0;
  }
  EXPECT_GT(graphs_with_draws, 100) << "the graphs give the pass too little to do";
}

TEST(FunctionalRng, OtherNodesAndInputsStay) {
  for (uint32_t seed = 0; seed < 500; ++seed) {
    const auto original = random_program(seed, 40);
    auto graph = original;
    if (!functional_rng(graph)) continue;
    ASSERT_EQ(graph.inputs.size(), original.inputs.size() + 1);
    const size_t before = graph.stage == ir::Stage::Joint ? 2 : original.inputs.size();  // tangents come last
    EXPECT_EQ(graph.inputs[before].role, ir::InputRole::RngState);
    EXPECT_EQ(std::ranges::count(graph.inputs, ir::InputRole::RngState, &ir::Input::role), 1);
    ASSERT_EQ(graph.nodes.size(), original.nodes.size());
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      EXPECT_EQ(graph.nodes[i].op == original.nodes[i].op, !original.nodes[i].effects.random);
      EXPECT_EQ(graph.tensor_type(graph.nodes[i].outputs[0]),
                original.tensor_type(original.nodes[i].outputs[0]));
    }
  }
}

TEST(FunctionalRng, WhatItEmitsMayBeComputedAgain) {
  std::set<std::string> emitted;
  for (const auto* name : {"factories", "in_place", "integers", "tensor_parameters", "dropout"}) {
    auto graph = ir::parse([&] {
      const auto text = read_text(std::filesystem::path(ANTEGRAD_SOURCE_DIR) /
                                  "src/passes/testdata/functional_rng" / (std::string(name) + ".graph"));
      return text.substr(0, text.find("\n---\n") + 1);
    }());
    functional_rng(graph);
    for (const auto& node : graph.nodes)
      if (draws_from_state(node)) emitted.insert(node.op);
  }
  EXPECT_EQ(emitted.size(), 8U);
  for (const auto& op : emitted) {
    ASSERT_NE(ir::find_op(op), nullptr) << op;
    EXPECT_EQ(ir::find_op(op)->recompute, ir::Recompute::Cheap) << op;
  }
}

}  // namespace
}  // namespace antegrad::passes
