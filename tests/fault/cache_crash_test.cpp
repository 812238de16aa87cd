// Processes that die at any point of reading and writing a directory leave no damaged entry.
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <thread>

#include "fault/cache_faults.h"

namespace antegrad::cache {
namespace {

namespace fs = std::filesystem;
using testing::address_of;
using testing::FaultyFiles;
using testing::local_settings;
using testing::open_local;
using testing::sample_entry;
using testing::TestFolder;

constexpr int kProcesses = 8;
constexpr int kKeys = 40;

size_t size_of(int number) { return static_cast<size_t>(number) * 977 % 60000; }
Entry entry_of(int number) { return sample_entry(number, size_of(number)); }

LocalSettings busy_settings(const TestFolder& folder) {
  auto settings = local_settings(folder);
  settings.limit_bytes = 1 << 20;  // less than all entries together need
  settings.writes_per_collection = 7;
  return settings;
}

/// An entry may be absent, but its contents are never wrong.
bool is_wrong(const Loaded& found, int number) {
  if (found.outcome == Outcome::Hit) return found.entry != entry_of(number);
  return found.outcome != Outcome::Miss;
}

/// Writes and reads until it is killed. Exits with 3 when it sees a wrong entry.
[[noreturn]] void work(const LocalSettings& settings, uint64_t seed) {
  std::mt19937_64 rng(seed);
  const auto store = open_local_store(settings, nullptr, std::make_shared<FileSystem>()).store;
  if (!store) ::_exit(4);
  for (;;) {
    const int number = static_cast<int>(rng() % kKeys);
    if (rng() % 2) store->put(address_of(number), entry_of(number));
    if (is_wrong(store->get(address_of(number)), number)) ::_exit(3);
    if (rng() % 50 == 0) store->collect();
  }
}

void expect_sound(const LocalSettings& settings) {
  const auto files = std::make_shared<FaultyFiles>();
  const auto store = open_local(settings, nullptr, files);
  const auto report = store->verify();
  for (const auto& bad : report.bad) ADD_FAILURE() << bad.address.to_text() << ": " << bad.reason;
  EXPECT_TRUE(report.problems.empty());
  for (int i = 0; i < kKeys; ++i) EXPECT_FALSE(is_wrong(store->get(address_of(i)), i)) << i;
  files->clock_shift = 2 * 3600;
  store->collect();
  EXPECT_EQ(store->stats().leftovers, 0u);
}

TEST(CacheCrash, KilledAtEveryOperation) {
  TestFolder folder;
  const auto settings = local_settings(folder);
  const auto counting = std::make_shared<FaultyFiles>();
  open_local(settings, nullptr, counting)->put(address_of(1), entry_of(1));
  const int operations = counting->operations();
  fs::remove_all(folder.path());
  for (const bool replace : {false, true}) {
    for (int at = 0; at < operations; ++at) {
      fs::remove_all(folder.path());
      if (replace) {
        ASSERT_TRUE(open_local(settings)->put(address_of(1), entry_of(2)));
      }
      const int ended = testing::in_child([&] {
        const auto files = std::make_shared<FaultyFiles>();
        files->kill_at = at;
        const auto opened = open_local_store(settings, nullptr, files);
        opened.store->put(address_of(1), entry_of(1));
      });
      // Writing takes fewer operations where the folders exist already.
      EXPECT_TRUE(ended == SIGKILL || (replace && ended == 0)) << at << ": " << ended;
      const auto found = open_local(settings)->get(address_of(1));
      if (found.outcome == Outcome::Hit) {
        EXPECT_TRUE(found.entry == entry_of(1) || found.entry == entry_of(2)) << at;
      } else {
        EXPECT_FALSE(replace) << at << ": what was there is gone: " << found.reason;
        EXPECT_EQ(found.outcome, Outcome::Miss) << at;
      }
      EXPECT_TRUE(open_local(settings)->verify().bad.empty());
      ASSERT_TRUE(open_local(settings)->put(address_of(1), entry_of(1)));
    }
  }
  expect_sound(settings);
}

TEST(CacheCrash, KilledAtRandomMoments) {
  TestFolder folder;
  const auto settings = busy_settings(folder);
  std::mt19937_64 rng(11);
  constexpr int kRounds = 30;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<pid_t> children;
    for (int i = 0; i < kProcesses; ++i) {
      const auto seed = rng();
      const pid_t child = ::fork();
      ASSERT_GE(child, 0);
      if (child == 0) work(settings, seed);
      children.push_back(child);
    }
    for (const pid_t child : children) {
      std::this_thread::sleep_for(std::chrono::microseconds(rng() % 12000));
      ::kill(child, SIGKILL);
    }
    for (const pid_t child : children) {
      int status = 0;
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      EXPECT_TRUE(WIFSIGNALED(status)) << "left with " << WEXITSTATUS(status);
    }
    const auto report = open_local(settings)->verify();
    EXPECT_TRUE(report.bad.empty()) << report.bad[0].reason;
  }
  EXPECT_GT(open_local(settings)->list().size(), 0u);
  expect_sound(settings);
}

/// All processes write the same key at the same time.
TEST(CacheCrash, OneKeyManyWriters) {
  TestFolder folder;
  const auto settings = local_settings(folder);
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const auto store = open_local_store(settings, nullptr, std::make_shared<FileSystem>()).store;
      if (!store) ::_exit(4);
      for (int round = 0; round < 200; ++round) {
        if (!store->put(address_of(1), sample_entry(i, 20000))) ::_exit(1);
        const auto found = store->get(address_of(1));
        if (found.outcome != Outcome::Hit || *found.entry.find("object") == "") ::_exit(2);
        int writer = -1;
        for (int j = 0; j < kProcesses; ++j) {
          if (found.entry == sample_entry(j, 20000)) writer = j;
        }
        if (writer < 0) ::_exit(3);
      }
      ::_exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "left with " << WEXITSTATUS(status);
  }
  const auto stats = open_local(settings)->stats();
  EXPECT_EQ(stats.entries, 1u);
  EXPECT_EQ(stats.leftovers, 0u);
}

/// A thread keeps deleting the directory while the store is written.
TEST(CacheCrash, TheDirectoryIsDeletedOverAndOver) {
  TestFolder folder;
  const auto settings = local_settings(folder);
  const auto store = open_local(settings);
  std::atomic<bool> done{false};
  std::thread cleaner([&] {
    std::error_code ignored;
    while (!done) fs::remove_all(folder.path(), ignored);
  });
  int wrong = 0, put = 0;
  for (int i = 0; i < 2000; ++i) {
    put += store->put(address_of(i % kKeys), entry_of(i % kKeys)).done;
    wrong += is_wrong(store->get(address_of(i % kKeys)), i % kKeys);
  }
  done = true;
  cleaner.join();
  EXPECT_EQ(wrong, 0);
  std::printf("%d of 2000 were written\n", put);
  ASSERT_TRUE(store->put(address_of(1), entry_of(1)));
  EXPECT_EQ(store->get(address_of(1)).entry, entry_of(1));
}

}  // namespace
}  // namespace antegrad::cache
