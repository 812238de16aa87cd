#include "schedule/sizes.h"

#include <gtest/gtest.h>

#include "ir/text.h"

namespace antegrad::schedule {
namespace {

std::string quotient(std::string_view a, std::string_view b) {
  const auto result = divided(ir::parse_dim(a), ir::parse_dim(b));
  return result ? result->to_string() : "none";
}

TEST(Sizes, QuotientsThatHoldForAllValues) {
  EXPECT_EQ(quotient("12", "4"), "3");
  EXPECT_EQ(quotient("12", "5"), "none");
  EXPECT_EQ(quotient("4*s0", "s0"), "4");
  EXPECT_EQ(quotient("4*s0", "2"), "2*s0");
  EXPECT_EQ(quotient("s0", "2"), "none");
  EXPECT_EQ(quotient("s0", "s1"), "none");
  EXPECT_EQ(quotient("6*s0*s1^2", "2*s1"), "3*s0*s1");
  EXPECT_EQ(quotient("s0*s1+2*s1", "s0+2"), "s1");
  EXPECT_EQ(quotient("s0^2-1", "s0-1"), "s0+1");
  EXPECT_EQ(quotient("s0^2+1", "s0-1"), "none");
  EXPECT_EQ(quotient("3*floor_div(s0,2)", "floor_div(s0,2)"), "3");
  EXPECT_EQ(quotient("2*floor_div(s0,2)", "s0"), "none");
  EXPECT_EQ(quotient("s0", "1"), "s0");
  EXPECT_EQ(quotient("s0", "s0"), "1");
  EXPECT_EQ(quotient("7", "0"), "none");
}

TEST(Sizes, SymbolsAreAtLeastOne) {
  const auto graph = ir::parse("graph @g functional [s0: .., s1: 3..8 ~ 5] {\n  in %0: f32[s0,s1] user\n}\n");
  const auto holds = [&](std::string_view dim, int64_t least) {
    return is_at_least(graph, ir::parse_dim(dim), least);
  };
  EXPECT_TRUE(holds("s0", 1));
  EXPECT_FALSE(holds("s0", 2));
  EXPECT_TRUE(holds("s0-1", 0));
  EXPECT_FALSE(holds("s0-2", 0));
  EXPECT_TRUE(holds("s1-2", 1));
  EXPECT_TRUE(holds("mod(s0,4)", 0));
  EXPECT_EQ(range_of(graph, ir::parse_dim("2*s1")), (ir::Range{6, 16}));
}

TEST(Sizes, StridesOfOuterDimsAreLikelyLarger) {
  const auto graph =
      ir::parse("graph @g functional [s0: 1.. ~ 1, s1: 1.. ~ 50] {\n  in %0: f32[s0,s1] user\n}\n");
  EXPECT_EQ(likely_stride(graph, 7), 7);
  EXPECT_EQ(likely_stride(graph, ir::parse_dim("3*s0")), 6);
  EXPECT_EQ(likely_stride(graph, ir::parse_dim("s0*s1")), 100);
}

}  // namespace
}  // namespace antegrad::schedule
