#include <gtest/gtest.h>

#include <algorithm>

#include "graph/random_joint.h"
#include "ir/text.h"
#include "partition/partition.h"

namespace antegrad::partition {
namespace {

// x * x is kept for cos; sin(x * x) is freed after the sum.
constexpr const char* kText = R"(graph @f joint {
  in %0: f32[100] user "x"
  in %1: f32[] tangent
  %2: f32[100] = aten.mul.Tensor(%0, %0)
  %3: f32[100] = aten.sin(%2)
  %4: f32[] = aten.sum(%3)
  %5: f32[100] = aten.cos(%2) backward
  %6: f32[100] = aten.mul.Tensor(%5, %1) backward
  out %4 user
  out %6 grad 0
}
)";

TEST(MemoryCurves, CountWhatIsAllocatedWhileEachNodeRuns) {
  const auto parts = partition(ir::parse(kText), SaveAll{});
  const auto curves = memory_curves(parts.forward, parts.backward, parts.saved);
  EXPECT_EQ(saved_memory(parts.forward, parts.saved), (std::vector<int64_t>{400}));
  EXPECT_EQ(curves.forward, (std::vector<int64_t>{400, 800, 804}));
  EXPECT_EQ(curves.backward, (std::vector<int64_t>{804, 804}));
}

TEST(MemoryCurves, PeakWhereTheEstimateSays) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    const auto parts = partition(random_joint(seed, 12), SaveAll{});
    const auto curves = memory_curves(parts.forward, parts.backward, parts.saved);
    ASSERT_EQ(curves.forward.size(), parts.forward.nodes.size());
    ASSERT_EQ(curves.backward.size(), parts.backward.nodes.size());
    if (!curves.forward.empty()) {
      EXPECT_EQ(*std::ranges::max_element(curves.forward), parts.peak.forward);
    }
    // Before its first node, the backward pass may hold more: saved values that no node reads.
    if (!curves.backward.empty()) {
      EXPECT_LE(*std::ranges::max_element(curves.backward), parts.peak.backward);
    }
  }
}

}  // namespace
}  // namespace antegrad::partition
