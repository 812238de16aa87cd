// Another party writes to the directory. With a key set, none of its entries is ever loaded, and each one is
// refused.
#include <gtest/gtest.h>

#include "cache/directory/shared_directory_store.h"
#include "fault/cache_faults.h"

namespace antegrad::cache {
namespace {

namespace fs = std::filesystem;
using testing::address_of;
using testing::path_of;
using testing::sample_entry;
using testing::secret_of;
using testing::TestFolder;

class CachePoisonTest : public ::testing::TestWithParam<bool> {
 protected:
  CachePoisonTest() {
    fs::create_directory(folder.path());
    ::chmod(folder.path().c_str(), 0700);
    store = open(secret_of("ours"));
  }
  std::shared_ptr<DirectoryStore> open(std::shared_ptr<const Secret> secret) {
    if (!GetParam()) return testing::open_local(testing::local_settings(folder), std::move(secret));
    return open_shared_directory_store({folder.path(), true}, std::move(secret),
                                       std::make_shared<FileSystem>())
        .store;
  }
  fs::path file(const Address& address) { return path_of(folder.path(), address); }
  void expect_refused(const Address& address, const std::string& reason) {
    const auto found = store->get(address);
    EXPECT_EQ(found.outcome, Outcome::Refused) << found.reason;
    EXPECT_NE(found.reason.find(reason), std::string::npos) << found.reason;
    EXPECT_TRUE(found.entry.sections.empty());
    int shown = 0;
    EXPECT_FALSE(store->search(address.key, [&](const Address& at, const Loaded& loaded) {
      if (at == address) {
        EXPECT_EQ(loaded.outcome, Outcome::Refused);
      }
      return ++shown < 0;
    }));
    EXPECT_GT(shown, 0);
    EXPECT_EQ(store->verify().bad.at(0).outcome, Outcome::Refused);
    // Stored again, it is right again.
    ASSERT_TRUE(store->put(address, sample_entry(1)));
    EXPECT_EQ(store->get(address).entry, sample_entry(1));
  }

  TestFolder folder;
  std::shared_ptr<DirectoryStore> store;
};

TEST_P(CachePoisonTest, AnEntryWithoutAMac) {
  ASSERT_TRUE(store->put(address_of(1), sample_entry(1)));
  testing::write_file(file(address_of(1)), write_entry(sample_entry(666), address_of(1), nullptr));
  expect_refused(address_of(1), "the entry has no MAC, and a key is set");
}

TEST_P(CachePoisonTest, AnEntryWithTheMacOfAnotherKey) {
  ASSERT_TRUE(store->put(address_of(1), sample_entry(1)));
  testing::write_file(file(address_of(1)),
                      write_entry(sample_entry(666), address_of(1), secret_of("theirs").get()));
  expect_refused(address_of(1), "was not made with this key");
}

/// The wrong object under the right key, with the old MAC and every checksum made to hold.
TEST_P(CachePoisonTest, AChangedObject) {
  ASSERT_TRUE(store->put(address_of(1), sample_entry(1)));
  const auto genuine = testing::read_file(file(address_of(1)));
  auto forged = write_entry(sample_entry(666, 300), address_of(1), nullptr);
  const auto body = forged.size() - 64;
  forged.replace(body, 32, genuine, genuine.size() - 64, 32);
  forged.replace(body + 32, 32, sha256(std::string_view(forged).substr(0, body + 32)).view());
  EXPECT_EQ(read_entry(forged, address_of(1), nullptr).outcome, Outcome::Hit);
  testing::write_file(file(address_of(1)), forged);
  expect_refused(address_of(1), "was not made with this key");
}

TEST_P(CachePoisonTest, SwappedEntries) {
  ASSERT_TRUE(store->put(address_of(1), sample_entry(1)));
  ASSERT_TRUE(store->put(address_of(2), sample_entry(2)));
  const auto one = testing::read_file(file(address_of(1)));
  testing::write_file(file(address_of(1)), testing::read_file(file(address_of(2))));
  testing::write_file(file(address_of(2)), one);
  expect_refused(address_of(1), "it was written for " + address_of(2).to_text());
  expect_refused(address_of(2), "it was written for " + address_of(1).to_text());
}

TEST_P(CachePoisonTest, AnotherVariantOfTheSameKey) {
  ASSERT_TRUE(store->put(address_of(1, 1), sample_entry(1)));
  fs::copy_file(file(address_of(1, 1)), file(address_of(1, 2)));
  expect_refused(address_of(1, 2), "it was written for " + address_of(1, 1).to_text());
}

/// An old entry comes back after the function has changed: its key has changed too.
TEST_P(CachePoisonTest, AReplayedEntryOfAnOldKey) {
  ASSERT_TRUE(store->put(address_of(1), sample_entry(1)));
  const auto old = testing::read_file(file(address_of(1)));
  store->clear();
  ASSERT_TRUE(store->put(address_of(2), sample_entry(2)));
  testing::write_file(file(address_of(2)), old);
  expect_refused(address_of(2), "it was written for " + address_of(1).to_text());
}

/// An old entry that was written with a secret that is no longer used.
TEST_P(CachePoisonTest, AReplayedEntryOfAnOldSecret) {
  ASSERT_TRUE(open(secret_of("last year's"))->put(address_of(1), sample_entry(666)));
  expect_refused(address_of(1), "was not made with this key");
}

/// Claims to be of another version, so that a less careful reader would load it.
TEST_P(CachePoisonTest, AnotherVersionIsAMiss) {
  ASSERT_TRUE(store->put(address_of(1), sample_entry(1)));
  auto bytes = testing::read_file(file(address_of(1)));
  bytes[8] = 0;
  testing::write_file(file(address_of(1)), bytes);
  EXPECT_EQ(store->get(address_of(1)).outcome, Outcome::Miss);
}

INSTANTIATE_TEST_SUITE_P(Stores, CachePoisonTest, ::testing::Values(false, true),
                         [](const auto& info) { return info.param ? "Shared" : "Local"; });

/// Without a key, swapped entries are still detected: no entry is used for another function by accident.
TEST(CachePoison, SwappedEntriesWithoutAKey) {
  TestFolder folder;
  const auto store = testing::open_local(testing::local_settings(folder));
  ASSERT_TRUE(store->put(address_of(1), sample_entry(1)));
  ASSERT_TRUE(store->put(address_of(2), sample_entry(2)));
  fs::copy_file(path_of(folder.path(), address_of(2)), path_of(folder.path(), address_of(1)),
                fs::copy_options::overwrite_existing);
  EXPECT_EQ(store->get(address_of(1)).outcome, Outcome::Corrupt);
  EXPECT_EQ(store->get(address_of(2)).outcome, Outcome::Hit);
}

}  // namespace
}  // namespace antegrad::cache
