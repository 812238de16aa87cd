// Which sizes become symbols, the values they are sampled at, and the guards on them.
#include "symbolic/shapes.h"

#include <gtest/gtest.h>

#include "symbolic/shape_guard.h"

namespace antegrad::symbolic {
namespace {

Shape dense(std::vector<int64_t> sizes) {
  Shape shape{true, sizes, std::vector<int64_t>(sizes.size())};
  int64_t stride = 1;
  for (size_t d = sizes.size(); d-- > 0; stride *= sizes[d]) shape.strides[d] = stride;
  return shape;
}

std::string text(const std::vector<ir::Dim>& dims) {
  std::string out;
  for (const auto& dim : dims) out += (out.empty() ? "" : " ") + dim.to_string();
  return out;
}

std::vector<ShapeView> views(const CallShapes& call) {
  std::vector<ShapeView> out;
  for (const auto& shape : call)
    out.push_back({shape.sizes.data(), shape.strides.data(), shape.sizes.size()});
  return out;
}

bool holds(const ShapeGuard& guard, const CallShapes& call) {
  std::vector<int64_t> values(guard.symbols());
  const auto tensors = views(call);
  return guard.holds([&](size_t i) { return tensors[i]; }, values.data());
}

TEST(Shapes, WhatDiffersIsASymbolAndWhatIsEqualIsOne) {
  const auto shapes = generalize({{dense({4, 8}), dense({4})}, {dense({6, 8}), dense({6})}}, {}, false);
  ASSERT_EQ(shapes.symbols.size(), 1u);
  EXPECT_EQ(shapes.symbols[0].hint, 6);
  EXPECT_EQ(text(shapes.tensors[0].sizes), "s0 8");
  EXPECT_EQ(text(shapes.tensors[0].strides), "8 1");
  EXPECT_EQ(text(shapes.tensors[1].sizes), "s0");
}

TEST(Shapes, SizesThatDifferFromEachOtherAreTwoSymbols) {
  const auto shapes = generalize({{dense({4, 4})}, {dense({6, 7})}}, {}, false);
  EXPECT_EQ(text(shapes.tensors[0].sizes), "s0 s1");
  EXPECT_EQ(text(shapes.tensors[0].strides), "s1 1");
}

TEST(Shapes, StridesOfPermutedTensorsFollowFromSizes) {
  const Shape a{true, {3, 5}, {1, 3}};
  const Shape b{true, {4, 5}, {1, 4}};
  const auto shapes = generalize({{a}, {b}}, {}, false);
  EXPECT_EQ(shapes.symbols.size(), 1u);
  EXPECT_EQ(text(shapes.tensors[0].strides), "1 s0");
}

TEST(Shapes, StridesOfSlicesAreSymbolsOfTheirOwn) {
  const Shape a{true, {3, 5}, {20, 1}};
  const Shape b{true, {3, 5}, {30, 1}};
  const auto shapes = generalize({{a}, {b}}, {}, false);
  EXPECT_EQ(text(shapes.tensors[0].sizes), "3 5");
  EXPECT_EQ(text(shapes.tensors[0].strides), "s0 1");
}

TEST(Shapes, ZeroIsNeverASymbolAndOneIsNotWithAll) {
  EXPECT_FALSE(generalize({{dense({0, 1})}}, {}, true).dynamic());
  EXPECT_EQ(text(generalize({{dense({3, 1})}}, {}, true).tensors[0].sizes), "s0 1");
  EXPECT_EQ(text(generalize({{dense({3})}, {dense({1})}}, {}, false).tensors[0].sizes), "s0");
}

TEST(Shapes, MarksHaveRangesMultiplesAndNames) {
  std::vector<Mark> marks = {
      {0, 0, {8, 64}, 8, ""}, {0, 1, {1, 100}, 1, "width"}, {1, 0, {1, 50}, 1, "width"}};
  const auto shapes = generalize({{dense({16, 5}), dense({5})}}, marks, false);
  EXPECT_EQ(text(shapes.tensors[0].sizes), "8*s0 s1");
  EXPECT_EQ(text(shapes.tensors[1].sizes), "s1");
  EXPECT_EQ(shapes.symbols[0].range, (ir::Range{1, 8}));
  EXPECT_EQ(shapes.symbols[1].range, (ir::Range{1, 50}));
  const ShapeGuard guard(shapes);
  EXPECT_TRUE(holds(guard, {dense({64, 7}), dense({7})}));
  EXPECT_FALSE(holds(guard, {dense({72, 7}), dense({7})}));    // beyond the range
  EXPECT_FALSE(holds(guard, {dense({20, 7}), dense({7})}));    // not a multiple
  EXPECT_FALSE(holds(guard, {dense({16, 7}), dense({8})}));    // not equal
  EXPECT_FALSE(holds(guard, {dense({16, 51}), dense({51})}));  // beyond the smaller range
}

TEST(Shapes, SamplesAreDistinctAndInRange) {
  auto shapes = generalize({{dense({4, 4})}, {dense({6, 7})}}, {}, false);
  const auto samples = assignments(shapes, 5);
  ASSERT_EQ(samples.size(), 5u);
  EXPECT_EQ(samples[0], (std::vector<int64_t>{6, 7}));
  std::vector<int64_t> all;
  for (const auto& sample : samples) all.insert(all.end(), sample.begin(), sample.end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::unique(all.begin(), all.end()), all.end());
  shapes.symbols[0].range = {2, 9};
  for (const auto& sample : assignments(shapes, 5))
    EXPECT_TRUE(sample[0] >= 2 && sample[0] <= 9) << sample[0];
}

TEST(Shapes, RelationsHoldInAllCalls) {
  const std::vector<CallShapes> calls = {{dense({4}), dense({9})}, {dense({6}), dense({13})}};
  const auto shapes = generalize(calls, {}, false);
  const auto found = relations(shapes, calls);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].value.to_string(), "2*s0+1");
  EXPECT_EQ(common_divisor(shapes, calls, 0), 2);
  const auto related = shapes.with({ir::Dim::symbol(0), found[0].value});
  EXPECT_EQ(related.symbols.size(), 1u);
  EXPECT_EQ(text(related.tensors[1].sizes), "2*s0+1");
}

TEST(ShapeGuard, SaysWhichPredicateFails) {
  const ShapeGuard guard(generalize({{dense({4, 8}), dense({4})}, {dense({6, 8}), dense({6})}}, {}, false));
  EXPECT_EQ(guard.to_string(),
            "s0 >= 1\ntensor 0 size 0 == s0\ntensor 0 size 1 == 8\ntensor 1 size 0 == s0\n");
  EXPECT_EQ(guard.failure(views({dense({5, 8}), dense({5})})), "");
  EXPECT_EQ(guard.failure(views({dense({5, 8}), dense({6})})),
            "tensor 1 has size 6 at dim 0, the guard is tensor 1 size 0 == s0, s0 = 5");
  EXPECT_EQ(guard.failure(views({dense({0, 8}), dense({0})})),
            "tensor 0 has size 0 at dim 0, the guard is tensor 0 size 0 == s0, s0 in 1..");
  EXPECT_EQ(guard.failure(views({dense({5, 8, 1}), dense({5})})), "tensor 0 has 3 dims, had 2");
  EXPECT_FALSE(holds(guard, {{true, {5, 8}, {1, 5}}, dense({5})}));  // other strides
}

}  // namespace
}  // namespace antegrad::symbolic
