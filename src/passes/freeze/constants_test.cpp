#include "passes/freeze/constants.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ir/text.h"
#include "ir/verify.h"
#include "passes/freeze/pack_weights.h"

namespace antegrad::passes {
namespace {

struct Halves {
  std::string frozen, rest;
};

Halves halves_of(const std::string& text) {
  auto graph = ir::parse(text);
  ir::verify(graph);
  const auto frozen = take_out_constants(graph);
  ir::verify(graph);
  if (frozen) ir::verify(*frozen);
  return {frozen ? ir::print(*frozen) : "", ir::print(graph)};
}

TEST(TakeOutConstants, LeavesViewsAndWhatDependsOnArguments) {
  const auto halves = halves_of(R"(graph @f functional {
  in %0: f32[4,8] user
  in %1: f32[8] param
  in %2: f32[8,8] buffer
  %3: f32[8] = aten.exp(%1)
  %4: f32[8,8]{1,8} &%2 = aten.t(%2)
  %5: f32[4,8] = aten.mm(%0, %4)
  %6: f32[1,8] &%3 = aten.unsqueeze(%3, 0)
  %7: f32[4,8] = aten.mul.Tensor(%5, %6)
  out %7 user
}
)");
  EXPECT_EQ(halves.frozen, R"(graph @f functional {
  in %0: f32[4,8] user
  in %1: f32[8] param
  in %2: f32[8,8] buffer
  %3: f32[8] = aten.exp(%1)
  out %3 user
}
)");
  EXPECT_NE(halves.rest.find(R"(constant "frozen0")"), std::string::npos) << halves.rest;
  EXPECT_EQ(halves.rest.find("aten.exp"), std::string::npos) << halves.rest;
  EXPECT_NE(halves.rest.find("aten.t("), std::string::npos) << halves.rest;
}

TEST(TakeOutConstants, LeavesWhatIsWrittenReturnedRandomOrLarge) {
  const std::string text = R"(graph @f functional {
  in %0: f32[4] user
  in %1: f32[4] param
  in %2: f32[4] buffer
  %3: f32[4] = aten.exp(%1)
  %4: f32[4] = aten.add.Tensor(%2, %1)
  %5: f32[4] = aten.sin(%2)
  %6: f32[4] = aten.mul.Tensor(%0, %5)
  %7: f32[4000,4]{0,1} &%1 = aten.expand(%1, [4000, 4])
  %8: f32[4000,4] = aten.exp(%7)
  %9: f32[4000,4] = aten.mul.Tensor(%8, %0)
  out %3 user
  out %6 user
  out %9 user
  out %4 mutated 2
}
)";
  const auto halves = halves_of(text);
  EXPECT_EQ(halves.frozen, "") << halves.rest;
  EXPECT_EQ(halves.rest, text);
}

TEST(PackWeights, PacksLargeConstantMatricesOnce) {
  auto graph = ir::parse(R"(graph @f functional {
  in %0: f32[4,128] user
  in %1: f32[128,128] param
  in %2: f32[128] param
  in %3: f32[128,128] user
  in %4: f32[8,128] param
  %5: f32[128,128]{1,128} &%1 = aten.t(%1)
  %6: f32[4,128] = aten.addmm(%2, %0, %5)
  %7: f32[4,128] = aten.mm(%6, %5)
  %8: f32[4,128] = aten.addmm(%2, %7, %5, beta=2)
  %9: f32[4,128] = aten.mm(%8, %3)
  %10: f32[128,8]{1,128} &%4 = aten.t(%4)
  %11: f32[4,8] = aten.mm(%9, %10)
  out %11 user
})");
  EXPECT_TRUE(pack_weights(graph));
  ir::verify(graph);
  const auto text = ir::print(graph);
  EXPECT_NE(text.find("antegrad.packed_mm(%0, %"), std::string::npos) << text;
  const auto count = [&](const char* op) {
    return std::ranges::count(graph.nodes, std::string(op), &ir::Node::op);
  };
  EXPECT_EQ(count("antegrad.pack"), 1) << text;
  EXPECT_EQ(count("antegrad.packed_mm"), 2) << text;
  EXPECT_EQ(count("aten.mm"), 2) << "of an argument, and of a small matrix\n" << text;
  EXPECT_FALSE(pack_weights(graph));
  const auto frozen = take_out_constants(graph);
  ir::verify(graph);
  ASSERT_TRUE(frozen);
  EXPECT_EQ(frozen->outputs.size(), 1U);
}

}  // namespace
}  // namespace antegrad::passes
