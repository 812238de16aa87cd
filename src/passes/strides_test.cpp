#include <gtest/gtest.h>

#include "ir/text.h"
#include "passes/rewrite/layout.h"

namespace antegrad::passes {
namespace {

/// A graph with inputs of these types and symbols s0 >= 1, s1 in 2 … 9 and s2 without bounds.
ir::Graph graph_of(const std::vector<std::string>& types) {
  std::string text = "graph @f functional [s0: 1.., s1: 2..9, s2: ..] {\n";
  for (size_t i = 0; i < types.size(); ++i) text += "in %" + std::to_string(i) + ": " + types[i] + " user\n";
  return ir::parse(text + "}");
}

ir::Range bounds_of(const std::string& size) {
  const auto graph = graph_of({"f32[" + size + "]"});
  return bounds(graph, graph.tensor_type({0}).sizes[0]);
}

TEST(Bounds, OfWhatCancels) {
  constexpr auto kMost = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(bounds_of("5"), (ir::Range{5, 5}));
  EXPECT_EQ(bounds_of("s0*s1-s1"), (ir::Range{0, kMost}));
  EXPECT_EQ(bounds_of("s0*s1-s0").lower, 1);
  EXPECT_EQ(bounds_of("floor_div(s0-1,2)+1").lower, 1);
  EXPECT_EQ(bounds_of("floor_div(s0-3,2)+1").lower, 0);
  EXPECT_EQ(bounds_of("3*s1"), (ir::Range{6, 27}));
  EXPECT_EQ(bounds_of("s1-s0").upper, 8);
  EXPECT_EQ(bounds_of("s0^30*s1^30").lower, 1 << 30);  // exceeds the size limit when expanded
  EXPECT_EQ(bounds_of("s2").lower, std::numeric_limits<int64_t>::min());
}

/// The result type of a pointwise op, with the broadcast sizes; empty if symbols hide the order.
std::string pointwise(const std::vector<std::string>& types) {
  const auto graph = graph_of(types);
  std::vector<const ir::TensorType*> operands;
  std::vector<ir::Dim> sizes;
  for (const auto& input : graph.inputs) {
    operands.push_back(&graph.tensor_type(input.value));
    EXPECT_TRUE(broadcast(operands.back()->sizes, sizes));
  }
  const auto strides = pointwise_strides(graph, sizes, operands);
  if (!strides) return {};
  return ir::print(ir::Type(ir::TensorType{ir::DType::F32, {}, sizes, *strides, 0}));
}

TEST(PointwiseStrides, FollowTheOperands) {
  EXPECT_EQ(pointwise({"f32[2,3]{1,2}", "f32[2,3]"}), "f32[2,3]{1,2}");
  EXPECT_EQ(pointwise({"f32[s0,s1]{1,s0}", "f32[s0,s1]"}), "f32[s0,s1]{1,s0}");
  EXPECT_EQ(pointwise({"f32[s0,1]", "f32[s1]"}), "f32[s0,s1]");
  EXPECT_EQ(pointwise({"f32[s0,8,s1,s1]{8*s1*s1,1,8*s1,8}", "f32[8,1,1]"}),
            "f32[s0,8,s1,s1]{8*s1^2,1,8*s1,8}");
  EXPECT_EQ(pointwise({"f32[s0,4,1]", "f32[s0,1,s1]"}), "f32[s0,4,s1]");
  EXPECT_EQ(pointwise({"f32[s0,s1]{2*s1,2}"}), "f32[s0,s1]");
}

TEST(PointwiseStrides, SizesAreNotZeroWhereThereAreElements) {
  EXPECT_EQ(pointwise({"f32[8,s0-1,4]{4*s0-4,4,1}", "f32[4]"}), "f32[8,s0-1,4]");
  EXPECT_EQ(pointwise({"f32[8,floor_div(s0,2),4]{4,32,1}", "f32[8,1,1]"}),
            "f32[8,floor_div(s0,2),4]{4,32,1}");
}

TEST(PointwiseStrides, MayBeHidden) {
  EXPECT_EQ(pointwise({"f32[4,4]{s0,s1}"}), "");
  EXPECT_EQ(pointwise({"f32[s0,s1]{7,7}"}), "");
}

}  // namespace
}  // namespace antegrad::passes
