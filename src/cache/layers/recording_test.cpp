#include "cache/layers/recording.h"

#include <gtest/gtest.h>

#include <thread>

#include "fault/cache_faults.h"

namespace antegrad::cache {
namespace {

using testing::address_of;
using testing::sample_entry;

class RecordingTest : public ::testing::Test {
 protected:
  testing::TestFolder folder;
  std::shared_ptr<Store> inner = testing::open_local(testing::local_settings(folder));
};

TEST_F(RecordingTest, RemembersWhatIsUsed) {
  RecordingStore store(inner);
  for (const int i : {1, 2, 3}) ASSERT_TRUE(inner->put(address_of(i), sample_entry(i)));
  for (const uint64_t variant : {5, 6, 7}) ASSERT_TRUE(inner->put(address_of(4, variant), sample_entry(4)));
  EXPECT_TRUE(store.used().empty());
  EXPECT_EQ(store.get(address_of(1)).entry, sample_entry(1));
  EXPECT_EQ(store.get(address_of(1)).outcome, Outcome::Hit);
  EXPECT_EQ(store.get(address_of(10)).outcome, Outcome::Miss);
  const std::vector<Address> many{address_of(2), address_of(11)};
  EXPECT_EQ(store.get_many(many)[0].entry, sample_entry(2));
  EXPECT_TRUE(store.put(address_of(12), sample_entry(12)));
  EXPECT_FALSE(store.put(address_of(13), {{{"", "no name"}}}));
  EXPECT_TRUE(store.search(address_of(4).key,
                           [](const Address& address, const Loaded&) { return address.variant == 6; }));
  EXPECT_FALSE(store.search(address_of(3).key, [](const Address&, const Loaded&) { return false; }));
  std::vector<Address> expected{address_of(1), address_of(2), address_of(12), address_of(4, 6)};
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(store.used(), expected);
  EXPECT_TRUE(store.complete());
  EXPECT_EQ(store.name(), "local");
  EXPECT_FALSE(store.read_only());
}

TEST_F(RecordingTest, HasALimit) {
  RecordingStore store(inner, 2);
  for (const int i : {1, 2, 1, 2}) EXPECT_TRUE(store.put(address_of(i), sample_entry(i)));
  EXPECT_TRUE(store.complete());
  EXPECT_TRUE(store.put(address_of(3), sample_entry(3)));
  EXPECT_FALSE(store.complete());
  EXPECT_EQ(store.used().size(), 2u);
  EXPECT_EQ(RecordingStore::kMostAddresses, 100'000u);
}

TEST_F(RecordingTest, ManyThreads) {
  RecordingStore store(inner);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 20; ++i) store.put(address_of(100 * (thread / 2) + i), sample_entry(i));
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(store.used().size(), 80u);
}

}  // namespace
}  // namespace antegrad::cache
