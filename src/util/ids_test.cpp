#include "util/ids.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ranges>
#include <string>

namespace antegrad {
namespace {

using AppleId = Id<struct AppleTag>;
using PearId = Id<struct PearTag>;
using Weights = IdMap<AppleId, int>;

template <class Map, class Index>
concept Indexable = requires(Map map, Index index) {
  map[index];
};

TEST(Ids, EachKindFitsItsOwnMapsOnly) {
  static_assert(Indexable<Weights, AppleId> && Indexable<const Weights, AppleId>);
  static_assert(!Indexable<Weights, PearId>);
  static_assert(!Indexable<Weights, size_t> && !Indexable<Weights, int32_t>);
  static_assert(!std::is_convertible_v<int32_t, AppleId> && !std::is_convertible_v<AppleId, int32_t>);
  static_assert(sizeof(AppleId) == sizeof(int32_t) && std::is_trivially_copyable_v<AppleId>);
}

TEST(Ids, AnIdIsInvalidUntilItIsGiven) {
  AppleId id;
  EXPECT_FALSE(id.valid());
  id = AppleId::at(3);
  EXPECT_TRUE(id.valid());
  EXPECT_EQ(id.index, 3);
  EXPECT_EQ(id.position(), 3u);
  EXPECT_LT(AppleId{2}, id);
}

TEST(Ids, AMapHandsOutIdsAndTakesThemBack) {
  IdMap<AppleId, std::string> names;
  const auto first = names.push_back("Braeburn");
  const auto second = names.push_back("Gala");
  EXPECT_EQ(names[first], "Braeburn");
  EXPECT_EQ(names[second], "Gala");
  EXPECT_TRUE(names.contains(second));
  EXPECT_FALSE(names.contains({2}));
  EXPECT_FALSE(names.contains({}));
  names.resize(3, "?");
  EXPECT_EQ(names[{2}], "?");
  EXPECT_EQ(names.list(), (std::vector<std::string>{"Braeburn", "Gala", "?"}));
}

TEST(Ids, IdsAreGoneThroughInOrderAndBackwards) {
  const Weights weights(std::vector<int>{5, 7, 9});
  int sum = 0;
  for (const auto id : weights.ids()) sum = 10 * sum + weights[id];
  for (const auto id : weights.ids() | std::views::reverse) sum = 10 * sum + weights[id];
  EXPECT_EQ(sum, 579975);
  EXPECT_EQ(std::ranges::distance(weights.ids()), 3);
  EXPECT_TRUE(IdRange<AppleId>(0).begin() == IdRange<AppleId>(0).end());
  const auto ids = weights.ids();
  EXPECT_EQ(*std::ranges::find_if(ids, [&](AppleId id) { return weights[id] == 7; }), AppleId{1});
}

TEST(Ids, BitsCanBeSet) {
  IdMap<AppleId, bool> ripe(4);
  ripe[{2}] = true;
  EXPECT_EQ(std::ranges::count(ripe, true), 1);
  EXPECT_TRUE(ripe[{2}]);
}

TEST(Ids, EnumeratorsIndexTables) {
  enum class Colour { Red, Green };
  constexpr const char* kNames[] = {"red", "green"};
  EXPECT_STREQ(kNames[ordinal(Colour::Green)], "green");
}

}  // namespace
}  // namespace antegrad
