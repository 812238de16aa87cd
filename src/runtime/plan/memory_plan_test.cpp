#include "runtime/plan/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace antegrad::runtime {
namespace {

TEST(MemoryPlan, BlocksThatAreNeededAtOnceDoNotOverlap) {
  uint64_t state = 7;
  auto random = [&](int64_t below) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<int64_t>((state >> 33) % static_cast<uint64_t>(below));
  };
  for (int round = 0; round < 50; ++round) {
    std::vector<Block> blocks;
    for (int i = 0; i < 60; ++i) {
      const auto begin = static_cast<int32_t>(random(100));
      blocks.push_back({random(5000), begin, begin + static_cast<int32_t>(random(20))});
    }
    const auto plan = plan_memory(blocks);
    std::vector<int64_t> live(130);
    for (size_t a = 0; a < blocks.size(); ++a) {
      EXPECT_EQ(plan.offsets[a] % kAlignment, 0);
      EXPECT_LE(plan.offsets[a] + blocks[a].bytes, plan.bytes);
      for (auto t = blocks[a].begin; t <= blocks[a].end; ++t) live[t] += blocks[a].bytes;
      for (size_t b = 0; b < a; ++b) {
        if (blocks[a].begin > blocks[b].end || blocks[b].begin > blocks[a].end) continue;
        EXPECT_TRUE(plan.offsets[a] + blocks[a].bytes <= plan.offsets[b] ||
                    plan.offsets[b] + blocks[b].bytes <= plan.offsets[a] || blocks[a].bytes == 0 ||
                    blocks[b].bytes == 0);
      }
    }
    EXPECT_LE(plan.bytes, *std::max_element(live.begin(), live.end()) * 3 / 2);
  }
}

}  // namespace
}  // namespace antegrad::runtime
