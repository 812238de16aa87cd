#include "schedule/clusters.h"

#include <gtest/gtest.h>

#include <random>

namespace antegrad::schedule {
namespace {

TEST(Clusters, DependencesAreFollowed) {
  Clusters clusters;
  const auto a = clusters.add(), b = clusters.add(), c = clusters.add();
  clusters.depend(b, a);
  clusters.depend(c, b);
  EXPECT_TRUE(clusters.depends(c, a));
  EXPECT_FALSE(clusters.depends(a, c));
}

TEST(Clusters, NothingIsMergedAroundAThird) {
  Clusters clusters;
  const auto a = clusters.add(), b = clusters.add(), c = clusters.add();
  clusters.depend(b, a);
  clusters.depend(c, b);
  clusters.depend(c, a);
  EXPECT_FALSE(clusters.may_merge(a, c));
  EXPECT_TRUE(clusters.may_merge(a, b));
  clusters.merge(a, b);
  EXPECT_TRUE(clusters.may_merge(a, c));
}

TEST(Clusters, OrderHasProducersFirstAndIsStable) {
  Clusters clusters;
  for (int i = 0; i < 4; ++i) clusters.add();
  clusters.depend({0}, {3});
  clusters.depend({1}, {2});
  const IdMap<ClusterId, int64_t> key(std::vector<int64_t>{0, 1, 2, 3});
  EXPECT_EQ(clusters.order(key), (std::vector<ClusterId>{{2}, {1}, {3}, {0}}));
}

/// Random merges in random graphs: merges that may_merge() allows never create a cycle.
TEST(Clusters, AllowedMergesLeaveNoCycle) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    Clusters clusters;
    constexpr int kCount = 24;
    IdMap<ClusterId, int64_t> key;
    for (int i = 0; i < kCount; ++i) {
      clusters.add();
      key.push_back(i);
      for (int j = 0; j < i; ++j)
        if (random() % 6 == 0) clusters.depend({i}, {j});
    }
    size_t alive = kCount;
    for (int tries = 0; tries < 60; ++tries) {
      const auto a = clusters.find(ClusterId::at(random() % kCount));
      const auto b = clusters.find(ClusterId::at(random() % kCount));
      if (a == b || !clusters.may_merge(a, b)) continue;
      clusters.merge(a, b);
      --alive;
      ASSERT_EQ(clusters.order(key).size(), alive);
    }
  }
}

}  // namespace
}  // namespace antegrad::schedule
