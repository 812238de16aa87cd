#include "cache/layers/background.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "fault/cache_faults.h"

namespace antegrad::cache {
namespace {

using std::chrono::milliseconds;
using testing::address_of;
using testing::sample_entry;

constexpr milliseconds kLong{20'000};

/// A store in memory whose writes block while the gate is closed.
class GatedStore : public Store {
 public:
  Loaded get(const Address& address) override {
    const std::lock_guard lock(mutex);
    const auto found = entries.find(address);
    return found == entries.end() ? Loaded{} : Loaded{Outcome::Hit, found->second, {}, "inner"};
  }
  std::vector<Loaded> get_many(std::span<const Address> addresses) override {
    asked.assign(addresses.begin(), addresses.end());
    return Store::get_many(addresses);
  }
  bool search(const Digest& key, const Visit& visit) override {
    for (const auto& [address, entry] : entries) {
      if (address.key == key && visit(address, {Outcome::Hit, entry, {}, "inner"})) return true;
    }
    return false;
  }
  Saved put(const Address& address, const Entry& entry) override {
    std::unique_lock lock(mutex);
    ++begun;
    changed.notify_all();
    changed.wait(lock, [&] { return open; });
    written.push_back(address);
    threads.push_back(std::this_thread::get_id());
    if (throws) throw std::runtime_error("misuse");
    if (!problem.empty()) return {false, problem};
    entries[address] = entry;
    return {true, {}};
  }
  std::string name() const override { return "inner"; }
  bool read_only() const override { return fixed; }

  void set_open(bool now) {
    const std::lock_guard lock(mutex);
    open = now;
    changed.notify_all();
  }
  void wait_until_begun(int puts) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return begun >= puts; });
  }

  std::mutex mutex;
  std::condition_variable changed;
  bool open = true, fixed = false, throws = false;
  int begun = 0;
  std::string problem;
  std::map<Address, Entry> entries;
  std::vector<Address> written, asked;
  std::vector<std::thread::id> threads;
};

class BackgroundTest : public ::testing::Test {
 protected:
  /// On return the thread holds the first entry, and nothing is written.
  void put_and_hold(BackgroundStore& store, int number) {
    inner->set_open(false);
    ASSERT_TRUE(store.put(address_of(number), sample_entry(number)));
    inner->wait_until_begun(1);
  }

  std::shared_ptr<GatedStore> inner = std::make_shared<GatedStore>();
};

TEST_F(BackgroundTest, WritesInOrderInAnotherThread) {
  BackgroundStore store(inner);
  put_and_hold(store, 0);
  std::vector<Address> expected{address_of(0)};
  for (int i = 1; i < 50; ++i) {
    ASSERT_TRUE(store.put(address_of(i), sample_entry(i)));
    expected.push_back(address_of(i));
  }
  EXPECT_EQ(store.waiting(), 50u);
  EXPECT_FALSE(store.flush(milliseconds(20)));
  inner->set_open(true);
  ASSERT_TRUE(store.flush(kLong));
  EXPECT_EQ(store.waiting(), 0u);
  EXPECT_EQ(inner->written, expected);
  for (const auto& thread : inner->threads) EXPECT_NE(thread, std::this_thread::get_id());
  EXPECT_TRUE(store.take_failures().empty());
}

TEST_F(BackgroundTest, WhatWaitsIsFound) {
  inner->entries[address_of(1, 9)] = sample_entry(9);
  inner->entries[address_of(1, 2)] = sample_entry(99);
  BackgroundStore store(inner);
  inner->set_open(false);
  ASSERT_TRUE(store.put(address_of(1, 1), sample_entry(1)));
  inner->wait_until_begun(1);
  ASSERT_TRUE(store.put(address_of(1, 2), sample_entry(2)));
  std::map<uint64_t, Entry> shown;
  const auto visit = [&](const Address& address, const Loaded& loaded) {
    EXPECT_TRUE(shown.emplace(address.variant, loaded.entry).second);
    return false;
  };
  EXPECT_EQ(store.get(address_of(1, 1)).entry, sample_entry(1));
  EXPECT_EQ(store.get(address_of(1, 2)).store, "waiting");
  EXPECT_EQ(store.get(address_of(1, 9)).store, "inner");
  EXPECT_EQ(store.get(address_of(2)).outcome, Outcome::Miss);
  EXPECT_FALSE(store.search(address_of(1).key, visit));
  EXPECT_EQ(shown,
            (std::map<uint64_t, Entry>{{1, sample_entry(1)}, {2, sample_entry(2)}, {9, sample_entry(9)}}));
  const std::vector<Address> many{address_of(1, 9), address_of(1, 2), address_of(3)};
  const auto loaded = store.get_many(many);
  EXPECT_EQ(loaded[0].entry, sample_entry(9));
  EXPECT_EQ(loaded[1].entry, sample_entry(2));
  EXPECT_EQ(loaded[2].outcome, Outcome::Miss);
  EXPECT_EQ(inner->asked, (std::vector<Address>{address_of(1, 9), address_of(3)}));
  inner->set_open(true);
}

TEST_F(BackgroundTest, ANewerEntryReplacesOneThatWaits) {
  BackgroundStore store(inner);
  put_and_hold(store, 0);
  for (const int i : {1, 2, 1})
    ASSERT_TRUE(store.put(address_of(i), sample_entry(10 * i + static_cast<int>(store.waiting()))));
  EXPECT_EQ(store.waiting(), 3u);
  // An entry that is being written cannot be replaced: the newer one is written after it.
  ASSERT_TRUE(store.put(address_of(0), sample_entry(5)));
  EXPECT_EQ(store.get(address_of(0)).entry, sample_entry(5));
  inner->set_open(true);
  ASSERT_TRUE(store.flush(kLong));
  EXPECT_EQ(inner->written,
            (std::vector<Address>{address_of(0), address_of(1), address_of(2), address_of(0)}));
  EXPECT_EQ(inner->entries[address_of(1)], sample_entry(13));
  EXPECT_EQ(inner->entries[address_of(0)], sample_entry(5));
}

TEST_F(BackgroundTest, WithoutRoomPutWritesItself) {
  for (const auto& limits : {BackgroundLimits{.entries = 2}, BackgroundLimits{.bytes = 2'500}}) {
    inner = std::make_shared<GatedStore>();
    BackgroundStore store(inner, limits);
    put_and_hold(store, 0);
    ASSERT_TRUE(store.put(address_of(1), sample_entry(1)));
    std::atomic<bool> returned{false};
    std::thread third([&] {
      EXPECT_TRUE(store.put(address_of(2), sample_entry(2, 2'000)));
      returned = true;
    });
    inner->wait_until_begun(2);
    EXPECT_FALSE(returned);
    EXPECT_EQ(store.waiting(), 2u);
    inner->set_open(true);
    third.join();
    EXPECT_TRUE(inner->get(address_of(2)).outcome == Outcome::Hit);
    EXPECT_TRUE(store.flush(kLong));
  }
}

TEST_F(BackgroundTest, WithoutRoomTheNewerEntryStillWins) {
  BackgroundStore store(inner, {.bytes = 3'000});
  put_and_hold(store, 0);
  ASSERT_TRUE(store.put(address_of(1), sample_entry(1)));
  // Both are too large for the queue: one replaces a pending entry, the other one that is being written.
  std::thread one([&] { EXPECT_TRUE(store.put(address_of(1), sample_entry(11, 5'000))); });
  std::thread zero([&] { EXPECT_TRUE(store.put(address_of(0), sample_entry(10, 5'000))); });
  inner->wait_until_begun(2);
  inner->set_open(true);
  one.join();
  zero.join();
  ASSERT_TRUE(store.flush(kLong));
  EXPECT_EQ(inner->entries[address_of(0)], sample_entry(10, 5'000));
  EXPECT_EQ(inner->entries[address_of(1)], sample_entry(11, 5'000));
}

TEST_F(BackgroundTest, FailuresAreSaidOnce) {
  BackgroundStore store(inner);
  inner->problem = "no room";
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(store.put(address_of(i), sample_entry(i)));
  ASSERT_TRUE(store.flush(kLong));
  EXPECT_EQ(store.take_failures(), std::vector<std::string>{"no room"});
  inner->throws = true;
  EXPECT_TRUE(store.put(address_of(1), sample_entry(1)));
  ASSERT_TRUE(store.flush(kLong));
  EXPECT_EQ(store.take_failures(), std::vector<std::string>{"writing in the background failed: misuse"});
  EXPECT_TRUE(store.take_failures().empty());
  EXPECT_NE(store.put(address_of(1), {{{"", "no name"}}}).reason, "");
  inner->fixed = true;
  inner->throws = false;
  inner->problem = "read only";
  EXPECT_EQ(store.put(address_of(1), sample_entry(1)).reason, "read only");
}

TEST_F(BackgroundTest, TheDestructorFlushes) {
  {
    BackgroundStore store(inner);
    for (int i = 0; i < 200; ++i) ASSERT_TRUE(store.put(address_of(i), sample_entry(i)));
  }
  EXPECT_EQ(inner->entries.size(), 200u);
}

TEST_F(BackgroundTest, TheDestructorDoesNotWaitForever) {
  const auto begin = std::chrono::steady_clock::now();
  {
    BackgroundStore store(inner, {.exit_time = milliseconds(50)});
    put_and_hold(store, 0);
    ASSERT_TRUE(store.put(address_of(1), sample_entry(1)));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  // The thread that was left behind finishes the current write and no more.
  inner->set_open(true);
  for (int i = 0; i < 2000 && inner.use_count() > 1; ++i) std::this_thread::sleep_for(milliseconds(5));
  EXPECT_EQ(inner.use_count(), 1);
  const std::lock_guard lock(inner->mutex);
  EXPECT_EQ(inner->written, std::vector<Address>{address_of(0)});
}

TEST_F(BackgroundTest, AStoreThatIsNeverUsedHasNoThread) {
  BackgroundStore store(inner);
  EXPECT_EQ(store.get(address_of(1)).outcome, Outcome::Miss);
  EXPECT_TRUE(store.flush(milliseconds(0)));
  EXPECT_EQ(inner.use_count(), 2);
}

TEST_F(BackgroundTest, AChildFlushesItsOwnAndDropsTheParents) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "thread sanitizer knows no threads in the child of a process that has some";
#endif
  testing::TestFolder folder;
  const auto settings = testing::local_settings(folder);
  const auto files = testing::open_local(settings);
  auto slow = std::make_shared<testing::FaultyFiles>();
  std::atomic<bool> hold{true};
  slow->before = [&](int) {
    while (hold) std::this_thread::sleep_for(milliseconds(1));
  };
  hold = false;
  auto held = testing::open_local(settings, nullptr, slow);
  hold = true;
  auto store = std::make_unique<BackgroundStore>(held);
  for (const int i : {1, 2}) ASSERT_TRUE(store->put(address_of(i), sample_entry(i)));
  EXPECT_EQ(testing::in_child([&] {
              hold = false;  // in the child only
              EXPECT_EQ(store->waiting(), 0u);
              EXPECT_EQ(store->get(address_of(2)).outcome, Outcome::Miss);
              EXPECT_TRUE(store->put(address_of(3), sample_entry(3)));
              store.reset();
            }),
            0);
  EXPECT_EQ(files->get(address_of(3)).entry, sample_entry(3));
  EXPECT_EQ(files->get(address_of(2)).outcome, Outcome::Miss);
  EXPECT_EQ(store->waiting(), 2u);
  hold = false;
  EXPECT_TRUE(store->flush(kLong));
  EXPECT_EQ(files->get(address_of(2)).entry, sample_entry(2));
}

TEST_F(BackgroundTest, EightThreads) {
  BackgroundStore store(inner, {.entries = 16});
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 200; ++i) {
        const int number = 1000 * thread + i;
        if (!store.put(address_of(number), sample_entry(number))) ++wrong;
        if (store.get(address_of(number)).entry != sample_entry(number)) ++wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  ASSERT_TRUE(store.flush(kLong));
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(inner->entries.size(), 1600u);
}

}  // namespace
}  // namespace antegrad::cache
