// Many entries, several format versions in one directory, and clocks that jump.
#include <gtest/gtest.h>

#include "fault/cache_faults.h"

namespace antegrad::cache {
namespace {

using testing::address_of;
using testing::FaultyFiles;
using testing::local_settings;
using testing::open_local;
using testing::path_of;
using testing::sample_entry;
using testing::TestFolder;

TEST(CacheScale, TenThousandEntries) {
  constexpr int kEntries = 10000;
  TestFolder folder;
  auto settings = local_settings(folder);
  const auto files = std::make_shared<FaultyFiles>();
  const auto store = open_local(settings, nullptr, files);
  for (int i = 0; i < kEntries; ++i) ASSERT_TRUE(store->put(address_of(i), sample_entry(i, 64)));
  EXPECT_EQ(store->stats().entries, uint64_t{kEntries});
  const auto report = store->verify();
  EXPECT_EQ(report.good, uint64_t{kEntries});
  EXPECT_TRUE(report.bad.empty());
  for (int i = 0; i < kEntries; i += 97) EXPECT_EQ(store->get(address_of(i)).entry, sample_entry(i, 64));
  // The cost of a lookup does not depend on the number of entries.
  files->start();
  EXPECT_EQ(store->get(address_of(kEntries)).outcome, Outcome::Miss);
  EXPECT_LE(files->operations(), 8);
  settings.limit_bytes = uint64_t{4096} * kEntries / 2;
  EXPECT_EQ(open_local(settings)->collect().entries, uint64_t{kEntries} * 55 / 100);
  EXPECT_EQ(store->clear().entries, uint64_t{kEntries} * 45 / 100);
}

/// Entries of another version are neither used nor counted as damage, and each version keeps what it wrote.
TEST(CacheScale, TwoVersionsInOneDirectory) {
  TestFolder folder;
  auto settings = local_settings(folder);
  const auto store = open_local(settings);
  const auto version_2 = [&](int number) {
    ASSERT_TRUE(store->put(address_of(number), sample_entry(number)));
    auto bytes = testing::read_file(path_of(folder.path(), address_of(number)));
    bytes[8] = 2;
    bytes.resize(bytes.size() / 2);  // this version knows nothing about their layout
    testing::write_file(path_of(folder.path(), address_of(number)), bytes);
  };
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(store->put(address_of(i), sample_entry(i)));
  for (int i = 10; i < 20; ++i) version_2(i);
  const auto found = store->get(address_of(10));
  EXPECT_EQ(found.outcome, Outcome::Miss);
  EXPECT_NE(found.reason.find("format version 2, and only 1 is read"), std::string::npos) << found.reason;
  EXPECT_TRUE(std::filesystem::exists(path_of(folder.path(), address_of(10))));
  const auto report = store->verify();
  EXPECT_EQ(report.good, 10u);
  EXPECT_EQ(report.other_versions, 10u);
  EXPECT_TRUE(report.bad.empty());
  // Both versions share a key: the last writer has it, the other compiles again.
  ASSERT_TRUE(store->put(address_of(10), sample_entry(10)));
  EXPECT_EQ(store->get(address_of(10)).outcome, Outcome::Hit);
  // Both count against the limit.
  settings.limit_bytes = 4096 * 10;
  EXPECT_EQ(open_local(settings)->collect().entries, 11u);
}

/// The clock jumps by years between any two operations: entries may be collected, but are never wrong, and
/// the limit holds.
TEST(CacheScale, ClockJumps) {
  TestFolder folder;
  auto settings = local_settings(folder);
  settings.limit_bytes = 4096 * 20;
  settings.writes_per_collection = 4;
  const auto files = std::make_shared<FaultyFiles>();
  const auto store = open_local(settings, nullptr, files);
  const int64_t year = 365 * 86400;
  int hits = 0;
  for (int i = 0; i < 400; ++i) {
    files->clock_shift = (i * 7919 % 41 - 20) * year;
    ASSERT_TRUE(store->put(address_of(i), sample_entry(i)));
    files->clock_shift = (i * 104729 % 41 - 20) * year;
    for (int j = std::max(0, i - 5); j <= i; ++j) {
      const auto found = store->get(address_of(j));
      if (found.outcome == Outcome::Hit) {
        ++hits;
        EXPECT_EQ(found.entry, sample_entry(j));
      } else {
        EXPECT_EQ(found.outcome, Outcome::Miss) << found.reason;
      }
    }
    EXPECT_LE(store->list().size(), 24u);
  }
  EXPECT_GT(hits, 100);
  // Once the clock is right, reading corrects the times of entries.
  files->clock_shift = 0;
  for (const auto& entry : store->list()) {
    EXPECT_EQ(store->get(entry.address).outcome, Outcome::Hit);
  }
  const auto now = files->now();
  for (const auto& entry : store->list()) EXPECT_LT(std::abs(entry.used - now), 3700);
}

}  // namespace
}  // namespace antegrad::cache
