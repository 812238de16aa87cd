#include "partition/cost.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "partition/weights.h"

namespace antegrad::partition {
namespace {

ir::Graph graph_of(const std::string& lines, const std::string& symbols = "") {
  return ir::parse("graph @f functional " + symbols + " {\n" + lines + "\n}");
}

double flops_of(const std::string& lines) {
  const auto graph = graph_of(lines);
  return flops(graph, graph.nodes.back());
}

TEST(Cost, Flops) {
  EXPECT_EQ(flops_of("in %0: f32[3,5] user in %1: f32[5,7] user %2: f32[3,7] = aten.mm(%0, %1)"),
            2 * 3 * 5 * 7);
  EXPECT_EQ(flops_of("in %0: f32[7] user in %1: f32[3,5] user in %2: f32[5,7] user "
                     "%3: f32[3,7] = aten.addmm(%0, %1, %2)"),
            2 * 3 * 5 * 7);
  EXPECT_EQ(flops_of("in %0: f32[2,3,5] user in %1: f32[2,5,7] user %2: f32[2,3,7] = aten.bmm(%0, %1)"),
            2 * 2 * 3 * 5 * 7);
  EXPECT_EQ(flops_of("in %0: f32[2,3,7] user in %1: f32[2,3,5] user in %2: f32[2,5,7] user "
                     "%3: f32[2,3,7] = aten.baddbmm(%0, %1, %2)"),
            2 * 2 * 3 * 5 * 7);
  EXPECT_EQ(flops_of("in %0: f32[1,3,8,8] user in %1: f32[16,3,3,3] param %2: f32[1,16,6,6] = "
                     "aten.convolution(%0, %1, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)"),
            2 * 16 * 6 * 6 * 3 * 3 * 3);
  EXPECT_EQ(flops_of("in %0: f32[1,16,6,6] user in %1: f32[16,3,3,3] param %2: f32[1,3,8,8] = "
                     "aten.convolution(%0, %1, none, [1, 1], [0, 0], [1, 1], true, [0, 0], 1)"),
            2 * 16 * 6 * 6 * 3 * 3 * 3);
  EXPECT_EQ(flops_of("in %0: f32[1,2,10,4] user in %1: f32[1,2,20,4] user in %2: f32[1,2,20,8] user "
                     "%3: f32[1,2,10,8] = aten._scaled_dot_product_some_attention(%0, %1, %2)"),
            2 * 2 * 10 * 20 * (4 + 8));
  EXPECT_EQ(flops_of("in %0: f32[6] user %1: f32[6] = aten.sin(%0)"), 12);
}

TEST(Cost, Bytes) {
  const auto graph = graph_of(R"(in %0: f32[10,10] user
    %1: f32[2,10]+20 &%0 = aten.slice.Tensor(%0, 0, 2, 4)
    %2: f32[10,1] = aten.sum.dim_IntList(%0, [1], true)
    %3: f32[10,64]{1,0} &%2 = aten.expand(%2, [10, 64])
    %4: bool[10,10] = aten.gt.Scalar(%0, 0)
    %5: int = aten.custom(%0))");
  EXPECT_EQ(dense_bytes(graph, {1}), 80);
  EXPECT_EQ(storage_bytes(graph, {1}), 400);
  EXPECT_EQ(dense_bytes(graph, {3}), 2560);
  EXPECT_EQ(storage_bytes(graph, {3}), 40);
  EXPECT_EQ(storage_bytes(graph, {4}), 100);
  EXPECT_EQ(storage_bytes(graph, {5}), 0);
  EXPECT_EQ(bytes_made(graph, graph.nodes[0]), 0);
  EXPECT_EQ(bytes_made(graph, graph.nodes[1]), 40);
  EXPECT_EQ(bytes_read(graph, graph.nodes[1]), 400);
}

TEST(Cost, SymbolicSizesAreLikelyOnes) {
  const auto graph =
      graph_of("in %0: f32[s0,s1,s2] user in %1: f32[s3,s3]{3*s3,3}+s3 user in %2: f32[s3-6] user",
               "[s0: 2..1024, s1: 2..16, s2: 500..1000, s3: 1.. ~ 5]");
  EXPECT_EQ(dense_bytes(graph, {0}), 4 * 64 * 16 * 500);
  EXPECT_EQ(dense_bytes(graph, {1}), 4 * 25);
  EXPECT_EQ(storage_bytes(graph, {1}), 4 * (5 + 4 * 15 + 4 * 3 + 1));
  EXPECT_EQ(dense_bytes(graph, {2}), 0);
  EXPECT_EQ(storage_bytes(graph, {2}), 0);
}

TEST(Cost, PoolingIsNotComputedTwice) {
  ir::Node node;
  node.op = "aten.max_pool2d_with_indices";
  EXPECT_TRUE(is_expensive(node));
  node.op = "aten.sum.dim_IntList";
  EXPECT_FALSE(is_expensive(node));
}

TEST(Cost, OpsWithoutARowAreDear) {
  ir::Node node;
  node.op = "custom.op";
  EXPECT_EQ(op_info(node).recompute, ir::Recompute::Expensive);
  node.op = "antegrad.strided";
  EXPECT_EQ(op_info(node).kind, ir::OpKind::View);
}

}  // namespace
}  // namespace antegrad::partition
