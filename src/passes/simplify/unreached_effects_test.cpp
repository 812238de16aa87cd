#include "passes/simplify/unreached_effects.h"

#include <gtest/gtest.h>

#include "ir/text.h"

namespace antegrad::passes {
namespace {

/// Two gradients, each computed by an ordered op, and an op that leads to no output.
ir::Graph backward_of_two() {
  ir::Graph graph;
  graph.stage = ir::Stage::Backward;
  const auto type = ir::contiguous_tensor(ir::DType::F32, {ir::Dim(3)}, {});
  for (int k = 0; k < 2; ++k) graph.add_input(type, ir::InputRole::Tangent);
  for (int k = 0; k < 3; ++k) {
    ir::Node node;
    node.op = "mylib.op";
    node.effects.ordered = true;
    node.args = {graph.inputs[k % 2].value};
    node.outputs = {graph.add_value(type)};
    node.provenance.roots = uint64_t{1} << (k % 2);
    if (k < 2) graph.outputs.push_back({node.outputs[0], ir::OutputRole::Grad, {}, k});
    graph.add_node(std::move(node));
  }
  return graph;
}

std::vector<bool> kept(const std::vector<bool>& wanted, const std::vector<bool>& defined) {
  auto graph = backward_of_two();
  release_unreached_effects(graph, wanted, defined);
  std::vector<bool> ordered;
  for (const auto& node : graph.nodes) ordered.push_back(node.effects.ordered);
  return ordered;
}

TEST(UnreachedEffects, OfGradientsThatNobodyWants) {
  EXPECT_EQ(kept({true, true}, {true, true}), (std::vector<bool>{true, true, true}));
  EXPECT_EQ(kept({true, false}, {true, true}), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(kept({false, true}, {true, true}), (std::vector<bool>{false, true, true}));
}

TEST(UnreachedEffects, OfTangentsThatAreUndefined) {
  EXPECT_EQ(kept({true, true}, {false, true}), (std::vector<bool>{false, true, false}));
  EXPECT_EQ(kept({true, true}, {true, false}), (std::vector<bool>{true, false, true}));
}

}  // namespace
}  // namespace antegrad::passes
