#include "passes/communication/reduce_gradients.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "ir/verify.h"
#include "passes/communication/agree.h"

namespace antegrad::passes {
namespace {

constexpr const char* kBackward = R"(graph @f backward {
  in %0: f32[2,3] tangent "t"
  %1: f32[2,3] = aten.neg(%0) backward
  %2: f32[2] = aten.sum.dim_IntList(%1, [1]) backward
  %3: f32[2,3] = aten.exp(%1) backward
  %4: f32[3] = aten.sum.dim_IntList(%3, [0]) backward
  out %4 grad 0
  out %1 grad 1
  out %2 grad 2
}
)";

std::string ops_of(const ir::Graph& graph) {
  std::string ops;
  for (const auto& node : graph.nodes) {
    const auto name = node.op.substr(node.op.find('.') + 1);
    ops += name.substr(0, name.find('.')) + " ";
  }
  return ops;
}

ir::Graph reduced(int64_t bucket_bytes, bool average, const std::vector<bool>& which) {
  auto graph = ir::parse(kBackward);
  reduce_gradients(graph, which, {"g", 2, bucket_bytes, average});
  ir::verify(graph);
  return graph;
}

TEST(ReduceGradients, EachBucketStartsWhenItsLastGradientIsFinal) {
  // Gradients are final in the order %1 (24 bytes), %2 (8), %4 (12).
  EXPECT_EQ(ops_of(reduced(32, false, {true, true, true})),
            "neg sum view view cat all_reduce exp sum view cat all_reduce "
            "wait_tensor slice view slice view wait_tensor slice view ");
  EXPECT_EQ(ops_of(reduced(1, false, {true, true, true})),
            "neg view cat all_reduce sum view cat all_reduce exp sum view cat all_reduce "
            "wait_tensor slice view wait_tensor slice view wait_tensor slice view ");
  EXPECT_EQ(ops_of(reduced(1000, true, {true, false, true})),
            "neg sum exp sum div view div view cat all_reduce wait_tensor slice view slice view ");
  EXPECT_EQ(ops_of(reduced(1000, true, {false, false, false})), "neg sum exp sum ");
}

TEST(ReduceGradients, GradientsAreViewsOfTheirBucket) {
  const auto graph = reduced(1000, false, {true, true, true});
  const auto& gradient = graph.tensor_type(graph.outputs[0].value);
  EXPECT_EQ(gradient.sizes, std::vector<ir::Dim>{3});
  EXPECT_EQ(gradient.offset, ir::Dim(8)) << "it becomes final last";
  EXPECT_EQ(graph.storage_of(graph.outputs[0].value), graph.storage_of(graph.outputs[1].value));
}

TEST(Agree, TextNamesWhatIsCommunicated) {
  auto graph = reduced(32, false, {true, true, true});
  agree_on_communication(graph);
  ir::verify(graph);
  EXPECT_EQ(ir::print(graph, graph.nodes[0]),
            "antegrad_distributed.agree(\"all_reduce f32[8] sum g\\nall_reduce f32[3] sum g\\n\", \"g\") "
            "ordered(\"group:g\") backward");
  auto silent = ir::parse(kBackward);
  agree_on_communication(silent);
  EXPECT_EQ(silent, ir::parse(kBackward));
}

}  // namespace
}  // namespace antegrad::passes
