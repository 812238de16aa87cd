// Listing, checking, collecting and clearing a directory of entries.
#include <fcntl.h>
#include <gtest/gtest.h>

#include "fault/cache_faults.h"

namespace antegrad::cache {
namespace {

namespace fs = std::filesystem;
using testing::address_of;
using testing::FaultyFiles;
using testing::local_settings;
using testing::open_local;
using testing::path_of;
using testing::sample_entry;
using testing::TestFolder;

constexpr uint64_t kBlock = 4096;

class MaintenanceTest : public ::testing::Test {
 protected:
  /// Writes an entry of one block that is `age` seconds old.
  void put(int number, int64_t age = 0) {
    ASSERT_TRUE(store->put(address_of(number), sample_entry(number)));
    set_age(path_of(folder.path(), address_of(number)), age);
  }
  void set_age(const fs::path& path, int64_t age) {
    const Handle file(*files, files->open_file(AT_FDCWD, path));
    ASSERT_EQ(files->set_modified(file.number(), files->now() - age), 0);
  }
  void limit_to(uint64_t blocks) {
    settings.limit_bytes = blocks * kBlock;
    store = open_local(settings, nullptr, files);
  }
  bool has(int number) { return fs::exists(path_of(folder.path(), address_of(number))); }
  fs::path leftover(int64_t age) {
    put(1);
    const auto path = path_of(folder.path(), address_of(1)).parent_path() / (".new-" + std::to_string(age));
    testing::write_file(path, "half");
    set_age(path, age);
    return path;
  }

  TestFolder folder;
  LocalSettings settings = local_settings(folder);
  std::shared_ptr<FaultyFiles> files = std::make_shared<FaultyFiles>();
  std::shared_ptr<DirectoryStore> store = open_local(settings, nullptr, files);
};

TEST_F(MaintenanceTest, ListsAndCounts) {
  EXPECT_EQ(store->stats().entries, 0u);
  put(1, 100);
  put(2, 50);
  ASSERT_TRUE(store->put(address_of(3), sample_entry(3, 10000)));
  testing::write_file(folder.path() + "/README", "not ours");
  const auto pending = leftover(10);
  testing::write_file(pending.parent_path() / "stranger", "");
  const auto list = store->list();
  ASSERT_EQ(list.size(), 3u);
  EXPECT_TRUE(std::is_sorted(list.begin(), list.end(),
                             [](const auto& a, const auto& b) { return a.address < b.address; }));
  const auto stats = store->stats();
  EXPECT_EQ(stats.entries, 3u);
  EXPECT_EQ(stats.bytes, (1 + 1 + 3 + 1) * kBlock);
  EXPECT_EQ(stats.leftovers, 1u);
  EXPECT_EQ(stats.strangers, 2u);
  EXPECT_NEAR(static_cast<double>(stats.newest - stats.oldest), 50, 10);
  EXPECT_TRUE(stats.problems.empty());
}

TEST_F(MaintenanceTest, ADirectoryThatIsGoneIsEmpty) {
  fs::remove_all(folder.path());
  EXPECT_TRUE(store->list().empty());
  EXPECT_EQ(store->stats().entries, 0u);
  EXPECT_TRUE(store->verify().problems.empty());
  EXPECT_EQ(store->collect().entries, 0u);
  EXPECT_TRUE(store->clear().problems.empty());
}

TEST_F(MaintenanceTest, VerifyFindsWhatIsWrong) {
  for (int i = 0; i < 6; ++i) put(i);
  const auto path = [&](int number) { return path_of(folder.path(), address_of(number)); };
  fs::resize_file(path(1), 99);
  auto other_version = testing::read_file(path(2));
  other_version[8] = 2;
  testing::write_file(path(2), other_version);
  fs::copy_file(path(4), path(3), fs::copy_options::overwrite_existing);
  ::chmod(path(5).c_str(), 0666);
  std::vector<size_t> progress;
  const auto report = store->verify([&](size_t done, size_t all) {
    EXPECT_EQ(all, 6u);
    progress.push_back(done);
  });
  EXPECT_EQ(progress, (std::vector<size_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(report.good, 2u);
  EXPECT_EQ(report.other_versions, 1u);
  std::map<Address, Outcome> bad;
  for (const auto& entry : report.bad) bad[entry.address] = entry.outcome;
  EXPECT_EQ(bad, (std::map<Address, Outcome>{{address_of(1), Outcome::Corrupt},
                                             {address_of(3), Outcome::Corrupt},
                                             {address_of(5), Outcome::Refused}}));
  EXPECT_EQ(store->list().size(), 6u);
}

TEST_F(MaintenanceTest, EvictsWhatWasNotUsedForLongest) {
  limit_to(10);
  for (int i = 0; i < 10; ++i) put(i, 1000 - i);
  EXPECT_EQ(store->collect().entries, 0u);
  put(10);
  set_age(path_of(folder.path(), address_of(0)), 1);  // used again
  const auto removed = store->collect();
  // Down to nine tenths of the limit.
  EXPECT_EQ(removed.entries, 2u);
  EXPECT_EQ(removed.bytes, 2 * kBlock);
  EXPECT_TRUE(has(0));
  EXPECT_FALSE(has(1));
  EXPECT_FALSE(has(2));
  for (int i = 3; i <= 10; ++i) EXPECT_TRUE(has(i)) << i;
}

TEST_F(MaintenanceTest, ReadingKeepsEntries) {
  limit_to(3);
  put(1, 9000);
  put(2, 8000);
  put(3, 7000);
  EXPECT_EQ(store->get(address_of(1)).outcome, Outcome::Hit);
  put(4);
  store->collect();
  EXPECT_TRUE(has(1));
  EXPECT_FALSE(has(2));
  EXPECT_TRUE(has(4));
}

TEST_F(MaintenanceTest, WritingCollectsNowAndThen) {
  settings.writes_per_collection = 5;
  limit_to(10);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(store->put(address_of(i), sample_entry(i)));
    EXPECT_LE(store->list().size(), 15u);
    // The newest entry stays, even if all are written within one second.
    EXPECT_TRUE(has(i)) << i;
  }
}

/// Each process writes little, but collectively they stay within the limit.
TEST_F(MaintenanceTest, ShortProcessesCollectToo) {
  settings.writes_per_collection = 16;
  settings.limit_bytes = 20 * kBlock;
  for (int i = 0; i < 300; ++i) {
    store = open_local(settings, nullptr, files);
    ASSERT_TRUE(store->put(address_of(i), sample_entry(i)));
  }
  EXPECT_LT(store->list().size(), 300u);
}

TEST_F(MaintenanceTest, NoLimit) {
  limit_to(0);
  for (int i = 0; i < 20; ++i) put(i, i);
  EXPECT_EQ(store->collect().entries, 0u);
}

TEST_F(MaintenanceTest, AnEntryLargerThanTheLimitGoes) {
  limit_to(2);
  ASSERT_TRUE(store->put(address_of(1), sample_entry(1, 100000)));
  EXPECT_EQ(store->collect().entries, 1u);
}

TEST_F(MaintenanceTest, TimesInTheFutureGoFirst) {
  limit_to(4);
  put(1, -1000000);
  put(2, 500);
  put(3, 400);
  put(4, -60);  // a clock that is slightly ahead
  put(5, 0);
  store->collect();
  EXPECT_FALSE(has(1));
  EXPECT_FALSE(has(2));
  for (int i : {3, 4, 5}) EXPECT_TRUE(has(i)) << i;
}

/// The clock falls back to 1970: all times are in the future, and the order of use still holds.
TEST_F(MaintenanceTest, AClockThatStartsAnew) {
  limit_to(10);
  for (int i = 0; i < 11; ++i) put(i, 1000 - i);
  files->clock_shift = -files->now();
  EXPECT_EQ(store->collect().entries, 2u);
  EXPECT_FALSE(has(0));
  EXPECT_FALSE(has(1));
  EXPECT_TRUE(has(10));
}

TEST_F(MaintenanceTest, OldLeftoversAreCollected) {
  const auto fresh = leftover(60), stale = leftover(4000), future = leftover(-4000);
  const auto removed = store->collect();
  EXPECT_EQ(removed.leftovers, 2u);
  EXPECT_EQ(removed.entries, 0u);
  EXPECT_TRUE(fs::exists(fresh));
  EXPECT_FALSE(fs::exists(stale));
  EXPECT_FALSE(fs::exists(future));
}

TEST_F(MaintenanceTest, ClearLeavesWhatIsNotOurs) {
  for (int i = 0; i < 5; ++i) put(i);
  leftover(1);
  testing::write_file(folder.path() + "/README", "not ours");
  const auto removed = store->clear();
  EXPECT_EQ(removed.entries, 5u);
  EXPECT_EQ(removed.leftovers, 1u);
  EXPECT_EQ(removed.bytes, 6 * kBlock);
  EXPECT_TRUE(store->list().empty());
  EXPECT_TRUE(fs::exists(folder.path() + "/README"));
  EXPECT_EQ(store->get(address_of(1)).outcome, Outcome::Miss);
}

TEST_F(MaintenanceTest, FoldersThatAreLinksAreLeftAlone) {
  TestFolder other;
  auto theirs = local_settings(other);
  const auto elsewhere = open_local(theirs);
  ASSERT_TRUE(elsewhere->put(address_of(1), sample_entry(1)));
  const auto name = folder_name(address_of(1).key);
  fs::create_directory_symlink(fs::path(other.path()) / name, fs::path(folder.path()) / name);
  const auto removed = store->clear();
  EXPECT_EQ(removed.entries, 0u);
  ASSERT_EQ(removed.problems.size(), 1u);
  EXPECT_EQ(removed.problems[0], name + " is a symbolic link or not a directory");
  EXPECT_EQ(elsewhere->get(address_of(1)).outcome, Outcome::Hit);
  EXPECT_EQ(store->get(address_of(1)).outcome, Outcome::Refused);
}

}  // namespace
}  // namespace antegrad::cache
