#include "ir/liveness.h"

#include <gtest/gtest.h>

#include "ir/text.h"

namespace antegrad::ir {
namespace {

Graph views_and_writes() {
  return parse(R"(graph @g traced {
    in %0: f32[4] user
    in %1: f32[4] user
    %2: f32[4] = aten.sin(%0)
    %3: f32[2] &%2 = aten.slice.Tensor(%2, 0, 0, 2)
    %4: f32[4] = aten.cos(%0)
    aten.neg_(%3) writes(%3)
    %5: f32[4] = aten.exp(%4)
    out %4 user
    out none user
  })");
}

TEST(Liveness, LastsFromTheNodeThatMakesAValueToTheLastThatReadsIt) {
  const auto graph = views_and_writes();
  const auto live = Liveness::of_nodes(graph);
  EXPECT_EQ(live.value({0}), (Lifetime{-1, 2}));
  EXPECT_EQ(live.value({2}), (Lifetime{0, 1}));
  EXPECT_EQ(live.value({3}), (Lifetime{1, 3}));
}

TEST(Liveness, WhatNobodyReadsLivesWhereItIsMade) {
  const auto graph = views_and_writes();
  const auto live = Liveness::of_nodes(graph);
  EXPECT_EQ(live.value({5}), (Lifetime{4, 4}));
  EXPECT_FALSE(live.value({1}).is_used());
}

TEST(Liveness, OutputsAreReadAfterTheLastNode) {
  const auto graph = views_and_writes();
  EXPECT_EQ(Liveness::of_nodes(graph).value({4}), (Lifetime{2, 5}));
}

TEST(Liveness, MemoryLivesAsLongAsAllValuesOnIt) {
  const auto graph = views_and_writes();
  const auto live = Liveness::of_nodes(graph);
  EXPECT_EQ(live.storage({2}), (Lifetime{0, 3}));
  EXPECT_EQ(live.storage({3}), live.storage({2}));
  EXPECT_EQ(live.storage({0}), live.value({0}));
}

TEST(Liveness, PositionsComeInAnyOrder) {
  const auto graph = views_and_writes();
  Liveness live(graph);
  live.use({2}, 7);
  live.make({2}, 5);
  live.make({2}, 6);
  live.use({3}, 4);
  EXPECT_EQ(live.value({2}), (Lifetime{5, 7}));
  EXPECT_EQ(live.value({3}), (Lifetime{-1, 4}));
  EXPECT_EQ(live.storage({3}), (Lifetime{5, 7}));
}

}  // namespace
}  // namespace antegrad::ir
