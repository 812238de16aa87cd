#include "passes/simplify/late_waits.h"

#include <gtest/gtest.h>

#include "ir/text.h"

namespace antegrad::passes {
namespace {

TEST(LateWaits, MoveToTheFirstReaderOrTheEnd) {
  auto graph = ir::parse(R"(graph @f functional {
  in %0: f32[4] user "x"
  %1: f32[4] = mylib.start(%0) ordered("group:g")
  %2: f32[4] &%1 = mylib.wait(%1) ordered("waits")
  %3: f32[4] = mylib.start(%0) ordered("group:g")
  %4: f32[4] &%3 = mylib.wait(%3) ordered("waits")
  %5: f32[4] = aten.neg(%0)
  %6: f32[4] = aten.exp(%5)
  %7: f32[4] = aten.add.Tensor(%4, %6)
  mylib.log(%5) ordered
  out %2 user
  out %7 user
}
)");
  EXPECT_TRUE(late_waits(graph));
  std::string ops;
  for (const auto& node : graph.nodes) ops += node.op.substr(node.op.find('.') + 1) + " ";
  EXPECT_EQ(ops, "start start neg exp wait add.Tensor log wait ");
  EXPECT_EQ(graph.nodes[4].outputs, std::vector<ir::ValueId>{{4}});
  EXPECT_FALSE(late_waits(graph));
}

}  // namespace
}  // namespace antegrad::passes
