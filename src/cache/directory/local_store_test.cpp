#include "cache/directory/local_store.h"

#include <gtest/gtest.h>

#include <thread>

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
using testing::secret_of;
using testing::TestFolder;

TEST(DefaultDirectory, FirstThatIsSet) {
  const auto nobody = [] { return std::string(); };
  const auto root = [] { return std::string("/root"); };
  EXPECT_EQ(default_directory({"/fast/cache", "/xdg", "/home/a"}, root), "/fast/cache");
  EXPECT_EQ(default_directory({"here", "/xdg", "/home/a"}, root), "here");
  EXPECT_EQ(default_directory({"", "/xdg", "/home/a"}, root), "/xdg/antegrad");
  EXPECT_EQ(default_directory({"", "", "/home/a"}, root), "/home/a/.cache/antegrad");
  EXPECT_EQ(default_directory({"", "", ""}, root), "/root/.cache/antegrad");
  EXPECT_EQ(default_directory({"", "relative", "too"}, root), "/root/.cache/antegrad");
  EXPECT_EQ(default_directory({"", "", ""}, nobody), "");
  EXPECT_EQ(default_directory({"", "", ""}, [] { return std::string("relative"); }), "");
}

TEST(DefaultDirectory, ThePasswordDatabaseIsAskedLast) {
  const auto ask = []() -> std::string {
    ADD_FAILURE() << "asked";
    return {};
  };
  default_directory({"", "", "/home/a"}, ask);
  default_directory({"", "/xdg", ""}, ask);
  EXPECT_TRUE(home_of_user().empty() || home_of_user().starts_with("/"));
}

class LocalStoreTest : public ::testing::Test {
 protected:
  TestFolder folder;
  LocalSettings settings = local_settings(folder);
  std::shared_ptr<FaultyFiles> files = std::make_shared<FaultyFiles>();
  std::shared_ptr<DirectoryStore> store = open_local(settings, nullptr, files);
};

TEST_F(LocalStoreTest, GivesBackWhatWasPut) {
  const auto missing = store->get(address_of(1));
  EXPECT_EQ(missing.outcome, Outcome::Miss);
  EXPECT_EQ(missing.reason, "");
  ASSERT_TRUE(store->put(address_of(1), sample_entry(1)));
  const auto found = store->get(address_of(1));
  EXPECT_EQ(found.outcome, Outcome::Hit);
  EXPECT_EQ(found.entry, sample_entry(1));
  EXPECT_EQ(found.store, "local");
  ASSERT_TRUE(store->put(address_of(1), sample_entry(2)));
  EXPECT_EQ(store->get(address_of(1)).entry, sample_entry(2));
  EXPECT_EQ(open_local(settings)->get(address_of(1)).entry, sample_entry(2));
}

TEST_F(LocalStoreTest, OneFileForEachEntry) {
  ASSERT_TRUE(store->put(address_of(1), sample_entry(1)));
  const auto file = path_of(folder.path(), address_of(1));
  EXPECT_EQ(testing::mode_of(file), 0600u);
  EXPECT_EQ(testing::mode_of(file.parent_path()), 0700u);
  EXPECT_EQ(testing::mode_of(folder.path()), 0700u);
  EXPECT_EQ(file.parent_path().filename().string() + file.filename().string(), address_of(1).to_text());
  size_t count = 0;
  for ([[maybe_unused]] const auto& any : fs::recursive_directory_iterator(folder.path())) ++count;
  EXPECT_EQ(count, 2u);
}

TEST_F(LocalStoreTest, SearchShowsAllEntriesOfAKey) {
  for (uint64_t variant : {3, 1, 2}) {
    ASSERT_TRUE(store->put(address_of(1, variant), sample_entry(static_cast<int>(variant))));
  }
  ASSERT_TRUE(store->put(address_of(2), sample_entry(9)));
  std::vector<uint64_t> shown;
  const auto until = [&](uint64_t last) {
    shown.clear();
    return store->search(address_of(1).key, [&](const Address& address, const Loaded& loaded) {
      EXPECT_EQ(loaded.entry, sample_entry(static_cast<int>(address.variant)));
      shown.push_back(address.variant);
      return address.variant == last;
    });
  };
  EXPECT_FALSE(until(99));
  EXPECT_EQ(shown, (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_TRUE(until(2));
  EXPECT_EQ(shown, (std::vector<uint64_t>{1, 2}));
  EXPECT_FALSE(store->search(address_of(3).key, [](const auto&, const auto&) { return true; }));
}

TEST_F(LocalStoreTest, DamagedEntriesAreRemovedAndHealed) {
  ASSERT_TRUE(store->put(address_of(1), sample_entry(1)));
  const auto file = path_of(folder.path(), address_of(1));
  fs::resize_file(file, 100);
  const auto damaged = store->get(address_of(1));
  EXPECT_EQ(damaged.outcome, Outcome::Corrupt);
  EXPECT_EQ(damaged.reason, "entry " + address_of(1).to_text() + ": 100 bytes are not its length");
  EXPECT_FALSE(fs::exists(file));
  EXPECT_EQ(store->get(address_of(1)).outcome, Outcome::Miss);
  ASSERT_TRUE(store->put(address_of(1), sample_entry(1)));
  EXPECT_EQ(store->get(address_of(1)).outcome, Outcome::Hit);
}

TEST_F(LocalStoreTest, HugeFilesAreNotRead) {
  ASSERT_TRUE(store->put(address_of(1), sample_entry(1)));
  fs::resize_file(path_of(folder.path(), address_of(1)), kMaxEntryBytes + 1);
  const auto found = store->get(address_of(1));
  EXPECT_EQ(found.outcome, Outcome::Corrupt);
  EXPECT_NE(found.reason.find("268435457 bytes are too many"), std::string::npos) << found.reason;
}

TEST_F(LocalStoreTest, LinksAreRefusedAndReplaced) {
  ASSERT_TRUE(store->put(address_of(1), sample_entry(1)));
  const auto file = path_of(folder.path(), address_of(1)), elsewhere = folder.parent() / "elsewhere";
  fs::rename(file, elsewhere);
  fs::create_symlink(elsewhere, file);
  EXPECT_EQ(store->get(address_of(1)).outcome, Outcome::Refused);
  ASSERT_TRUE(store->put(address_of(1), sample_entry(2)));
  EXPECT_EQ(store->get(address_of(1)).entry, sample_entry(2));
}

TEST_F(LocalStoreTest, ADirectoryThatTurnsBadIsRefused) {
  ASSERT_TRUE(store->put(address_of(1), sample_entry(1)));
  ::chmod(folder.path().c_str(), 0777);
  const auto found = store->get(address_of(1));
  EXPECT_EQ(found.outcome, Outcome::Refused);
  EXPECT_NE(found.reason.find("can be written by others (permissions 777)"), std::string::npos)
      << found.reason;
  EXPECT_FALSE(store->put(address_of(1), sample_entry(1)));
  int shown = 0;
  store->search(address_of(1).key, [&](const Address&, const Loaded& loaded) {
    EXPECT_EQ(loaded.outcome, Outcome::Refused);
    return ++shown == 2;
  });
  EXPECT_EQ(shown, 1);
  EXPECT_EQ(store->verify().problems.size(), 1u);
  EXPECT_EQ(store->clear().problems.size(), 1u);
  EXPECT_FALSE(open_local_store(settings, nullptr, files).store);
}

TEST_F(LocalStoreTest, ADeletedDirectoryIsMadeAgain) {
  ASSERT_TRUE(store->put(address_of(1), sample_entry(1)));
  fs::remove_all(folder.path());
  EXPECT_EQ(store->get(address_of(1)).outcome, Outcome::Miss);
  ASSERT_TRUE(store->put(address_of(1), sample_entry(1)));
  EXPECT_EQ(store->get(address_of(1)).outcome, Outcome::Hit);
}

/// The directory is deleted once at each step of writing.
TEST_F(LocalStoreTest, DeletedWhileWriting) {
  files->start();
  ASSERT_TRUE(store->put(address_of(1), sample_entry(1)));
  const int operations = files->operations();
  for (int at = 0; at < operations; ++at) {
    fs::remove_all(folder.path());
    files->start();
    files->before = [&](int operation) {
      if (operation == at) fs::remove_all(folder.path());
    };
    const auto saved = store->put(address_of(1), sample_entry(at));
    files->before = {};
    // A deletion after the last access to the name cannot be noticed.
    ASSERT_TRUE(saved) << saved.reason;
    EXPECT_NE(store->get(address_of(1)).outcome, Outcome::Corrupt);
  }
}

TEST_F(LocalStoreTest, ReadingNotesTheTimeOnceAnHour) {
  ASSERT_TRUE(store->put(address_of(1), sample_entry(1)));
  const auto used = [&] { return store->list().at(0).used; };
  const auto written = used();
  const auto expect_used = [&](int64_t shift, int64_t expected) {
    files->clock_shift = shift;
    EXPECT_EQ(store->get(address_of(1)).outcome, Outcome::Hit);
    EXPECT_NEAR(static_cast<double>(used() - written), static_cast<double>(expected), 60.0) << shift;
  };
  expect_used(1800, 0);
  expect_used(3700, 3700);
  expect_used(5000, 3700);
  expect_used(90000, 90000);
  // The clock was wrong and is corrected.
  expect_used(0, 0);
}

TEST_F(LocalStoreTest, NoDirectoryNoStore) {
  settings.directory = "";
  EXPECT_EQ(open_local_store(settings, nullptr, files).reason,
            "there is no local cache: no directory for it is known");
}

TEST_F(LocalStoreTest, SlashesAndRelativePaths) {
  settings.directory = folder.path() + "//";
  EXPECT_EQ(open_local(settings)->directory(), folder.path());
  EXPECT_EQ(normal_path("a"), fs::current_path() / "a");
  EXPECT_EQ(normal_path("/"), "/");
  EXPECT_EQ(normal_path("/."), "/");
  EXPECT_EQ(normal_path("/a/.//./"), "/a");
  EXPECT_EQ(normal_path("/a./b."), "/a./b.");
  EXPECT_EQ(normal_path(""), "");
  const auto link = folder.parent() / "link";
  fs::create_directory_symlink(folder.path(), link);
  settings.directory = link.string() + "/";
  EXPECT_FALSE(open_local_store(settings, nullptr, files).store);
}

TEST_F(LocalStoreTest, AHomeThatCannotBeWritten) {
  TestFolder home;
  ::chmod(home.parent().c_str(), 0555);
  const int result = testing::in_child_without_rights([&] {
    LocalSettings there;
    there.directory = home.path();
    const auto opened = open_local_store(there, nullptr, files);
    EXPECT_FALSE(opened.store);
    EXPECT_EQ(opened.reason, "there is no local cache: cannot make " + home.path() + ": Permission denied");
  });
  EXPECT_EQ(result, 0);
}

/// A cache that is part of an image: hits, but nothing new is stored.
TEST_F(LocalStoreTest, ReadOnlyFileSystem) {
  ASSERT_TRUE(store->put(address_of(1), sample_entry(1)));
  struct ReadOnly : FileSystem {
    int make_directory(int, const std::string&, uint32_t) override { return -EROFS; }
    int create_file(int, const std::string&, uint32_t) override { return -EROFS; }
    int set_modified(int, int64_t) override { return -EROFS; }
    int remove(int, const std::string&) override { return -EROFS; }
  };
  const auto there = open_local(settings, nullptr, std::make_shared<ReadOnly>());
  EXPECT_EQ(there->get(address_of(1)).outcome, Outcome::Hit);
  const auto saved = there->put(address_of(1), sample_entry(1));
  EXPECT_FALSE(saved);
  EXPECT_NE(saved.reason.find("Read-only file system"), std::string::npos) << saved.reason;
  EXPECT_EQ(there->put(address_of(2), sample_entry(2)).reason, saved.reason);
  settings.directory = folder.parent() / "other";
  EXPECT_NE(
      open_local_store(settings, nullptr, std::make_shared<ReadOnly>()).reason.find("Read-only file system"),
      std::string::npos);
}

TEST_F(LocalStoreTest, ReadOnlyModeChangesNothing) {
  ASSERT_TRUE(store->put(address_of(1), sample_entry(1)));
  ASSERT_TRUE(store->put(address_of(2), sample_entry(2)));
  fs::resize_file(path_of(folder.path(), address_of(2)), 100);
  settings.read_only = true;
  settings.limit_bytes = 1;
  const auto reader = open_local(settings, nullptr, files);
  EXPECT_TRUE(reader->read_only());
  files->clock_shift = 100000;
  EXPECT_EQ(reader->get(address_of(1)).outcome, Outcome::Hit);
  EXPECT_EQ(reader->get(address_of(2)).outcome, Outcome::Corrupt);
  EXPECT_EQ(reader->put(address_of(3), sample_entry(3)).reason, folder.path() + " is read only");
  reader->collect();
  EXPECT_EQ(reader->clear().problems.size(), 1u);
  EXPECT_EQ(reader->list().size(), 2u);
  EXPECT_LT(reader->list()[0].used, files->now() - 50000);
}

TEST_F(LocalStoreTest, WithAKeyEveryEntryNeedsIt) {
  ASSERT_TRUE(store->put(address_of(1), sample_entry(1)));
  const auto safe = open_local(settings, secret_of("a"));
  EXPECT_EQ(safe->get(address_of(1)).outcome, Outcome::Refused);
  ASSERT_TRUE(safe->put(address_of(1), sample_entry(1)));
  EXPECT_EQ(safe->get(address_of(1)).outcome, Outcome::Hit);
  EXPECT_EQ(store->get(address_of(1)).outcome, Outcome::Hit);
  // A refused entry is not damaged: readers with the right key still need it.
  EXPECT_EQ(open_local(settings, secret_of("b"))->get(address_of(1)).outcome, Outcome::Refused);
  EXPECT_EQ(safe->get(address_of(1)).outcome, Outcome::Hit);
}

TEST_F(LocalStoreTest, WhatCannotBeAnEntryIsNotWritten) {
  EXPECT_EQ(store->put(address_of(1), {{{"a", "x"}, {"a", "y"}}}).reason, "two sections \"a\"");
  EXPECT_TRUE(store->list().empty());
}

TEST_F(LocalStoreTest, ThreadsShareAStore) {
  settings.limit_bytes = 40 * 4096;
  settings.writes_per_collection = 3;
  const auto shared = open_local(settings);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0}, hits{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 150; ++i) {
        const int number = (i * 7 + t) % 60;
        wrong += !shared->put(address_of(number), sample_entry(number));
        const auto found = shared->get(address_of(number));
        hits += found.outcome == Outcome::Hit;
        wrong += found.outcome == Outcome::Hit ? found.entry != sample_entry(number)
                                               : found.outcome != Outcome::Miss;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(hits, 300);
  EXPECT_TRUE(shared->verify().bad.empty());
}

}  // namespace
}  // namespace antegrad::cache
