#include "passes/simplify/undefined_tangents.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "ir/verify.h"
#include "passes/simplify/dead_code.h"

namespace antegrad::passes {
namespace {

std::string specialised(const char* text, const std::vector<bool>& defined,
                        const std::vector<bool>& reached) {
  auto graph = ir::parse(text);
  drop_undefined_tangents(graph, defined, reached);
  dead_code(graph);
  graph.compact();
  ir::verify(graph);
  return ir::print(graph);
}

std::string normal(const char* text) { return ir::print(ir::parse(text)); }

constexpr const char* kTwoRoots = R"(graph @b backward {
  in %0: f32[3] saved
  in %1: f32[3] tangent
  in %2: f32[3] tangent
  %3: f32[3] = aten.mul.Tensor(%1, %0) backward for 1
  %4: f32[3] = aten.exp(%2) backward for 2
  %5: f32[3] = aten.add.Tensor(%3, %4) backward for 3
  out %5 grad 0
  out %4 grad 1
})";

TEST(UndefinedTangents, AllDefinedChangesNothing) {
  EXPECT_EQ(specialised(kTwoRoots, {true, true}, {true, true}), normal(kTwoRoots));
}

TEST(UndefinedTangents, ASumIsItsDefinedSummand) {
  EXPECT_EQ(specialised(kTwoRoots, {true, false}, {true, false}), normal(R"(graph @b backward {
  in %0: f32[3] saved
  in %1: f32[3] tangent
  in %2: f32[3] tangent
  %3: f32[3] = aten.mul.Tensor(%1, %0) backward for 1
  out %3 grad 0
  out none grad 1
})"));
}

TEST(UndefinedTangents, AViewOfASumIsOneOfItsDefinedSummand) {
  const auto* text = R"(graph @b backward {
  in %0: f32[4,3] saved
  in %1: f32[4,3] tangent
  in %2: f32[4,3] tangent
  %3: f32[4,3] = aten.mul.Tensor(%1, %0) backward for 1
  %4: f32[4,3] = aten.sin(%2) backward for 2
  %5: f32[4,3] = aten.add.Tensor(%3, %4) backward for 3
  %6: f32[3,4]{1,3} &%5 = aten.t(%5) backward for 3
  %7: f32[4]{3}+1 &%5 = aten.select.int(%6, 0, 1) backward for 3
  out %6 grad 0
  out %7 grad 1
})";
  EXPECT_EQ(specialised(text, {false, true}, {true, true}), normal(R"(graph @b backward {
  in %0: f32[4,3] saved
  in %1: f32[4,3] tangent
  in %2: f32[4,3] tangent
  %3: f32[4,3] = aten.sin(%2) backward for 2
  %4: f32[3,4]{1,3} &%3 = aten.t(%3) backward for 3
  %5: f32[4]{3}+1 &%3 = aten.select.int(%4, 0, 1) backward for 3
  out %4 grad 0
  out %5 grad 1
})"));
}

// The summand may itself be a view with an offset.
TEST(UndefinedTangents, AViewOfASumBeginsWhereTheSummandDoes) {
  const auto* text = R"(graph @b backward {
  in %0: f32[6] tangent
  in %1: f32[3] tangent
  %2: f32[3]+2 &%0 = aten.slice.Tensor(%0, 0, 2, 5) backward for 1
  %3: f32[3] = aten.sin(%1) backward for 2
  %4: f32[3] = aten.add.Tensor(%2, %3) backward for 3
  %5: f32[]+1 &%4 = aten.select.int(%4, 0, 1) backward for 3
  out %5 grad 0
})";
  EXPECT_EQ(specialised(text, {true, false}, {true}), normal(R"(graph @b backward {
  in %0: f32[6] tangent
  in %1: f32[3] tangent
  %2: f32[3]+2 &%0 = aten.slice.Tensor(%0, 0, 2, 5) backward for 1
  %3: f32[]+3 &%0 = aten.select.int(%2, 0, 1) backward for 3
  out %3 grad 0
})"));
}

TEST(UndefinedTangents, ASumOfOtherTypesStaysOne) {
  const auto* text = R"(graph @b backward {
  in %0: f32[3] tangent
  in %1: f64[3] tangent
  %2: f64[3] = aten.add.Tensor(%0, %1) backward for 3
  out %2 grad 0
})";
  EXPECT_EQ(specialised(text, {true, false}, {true}), normal(R"(graph @b backward {
  in %0: f32[3] tangent
  in %1: f64[3] tangent
  %2: f64[3] = aten.zeros([3], dtype=f64, device=cpu) backward for 3
  %3: f64[3] = aten.add.Tensor(%0, %2) backward for 3
  out %3 grad 0
})"));
}

TEST(UndefinedTangents, NothingDefined) {
  EXPECT_EQ(specialised(kTwoRoots, {false, false}, {false, false}), normal(R"(graph @b backward {
  in %0: f32[3] saved
  in %1: f32[3] tangent
  in %2: f32[3] tangent
  out none grad 0
  out none grad 1
})"));
}

TEST(UndefinedTangents, AnOpOfBothGetsZeros) {
  const auto* text = R"(graph @b backward {
  in %0: f32[3] tangent
  in %1: f32[3] tangent
  %2: f32[6] = aten.cat([%0, %1]) backward for 3
  out %2 grad 0
})";
  EXPECT_EQ(specialised(text, {false, true}, {true}), normal(R"(graph @b backward {
  in %0: f32[3] tangent
  in %1: f32[3] tangent
  %2: f32[3] = aten.zeros([3], dtype=f32, device=cpu) backward for 3
  %3: f32[6] = aten.cat([%2, %1]) backward for 3
  out %3 grad 0
})"));
}

// The gradient of floor() is zeros, whatever the tangent.
TEST(UndefinedTangents, ZerosMadeForADefinedTangentAreAGradient) {
  const auto* text = R"(graph @b backward {
  in %0: f32[3] saved
  in %1: f32[3] tangent
  in %2: f32[3] tangent
  %3: f32[3] = aten.zeros([3]) backward for 2
  %4: f32[3] = aten.add.Tensor(%1, %3) backward for 2
  %5: f32[3] = aten.mul.Tensor(%4, %0) backward for 3
  out %5 grad 0
})";
  EXPECT_EQ(specialised(text, {false, true}, {true}), normal(R"(graph @b backward {
  in %0: f32[3] saved
  in %1: f32[3] tangent
  in %2: f32[3] tangent
  %3: f32[3] = aten.zeros([3]) backward for 2
  %4: f32[3] = aten.mul.Tensor(%3, %0) backward for 3
  out %4 grad 0
})"));
  EXPECT_EQ(specialised(text, {true, false}, {true}), normal(R"(graph @b backward {
  in %0: f32[3] saved
  in %1: f32[3] tangent
  in %2: f32[3] tangent
  %3: f32[3] = aten.zeros([3]) backward for 2
  %4: f32[3] = aten.add.Tensor(%1, %3) backward for 2
  %5: f32[3] = aten.mul.Tensor(%4, %0) backward for 3
  out %5 grad 0
})"));
}

TEST(UndefinedTangents, AConstantGradientIsGivenWhereItIsReached) {
  const auto* text = R"(graph @b backward {
  in %0: f32[3] saved
  in %1: f32[3] tangent
  out %0 grad 0
})";
  EXPECT_NE(specialised(text, {true}, {true}).find("out %0 grad 0"), std::string::npos);
  EXPECT_NE(specialised(text, {false}, {false}).find("out none grad 0"), std::string::npos);
}

}  // namespace
}  // namespace antegrad::passes
