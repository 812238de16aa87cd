// Failing disks: each file system operation in turn fails once, or from then on. Nothing throws, no existing
// entry is lost, no file stays open, and everything works once the disk does.
#include <gtest/gtest.h>

#include <iterator>

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

size_t open_files() {
  return static_cast<size_t>(
      std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}

class CacheIoTest : public ::testing::Test {
 protected:
  /// Calls `step` with a fault at each of its operations. `prepare` sets up the state and `check` examines it
  /// afterwards, both without faults.
  void with_each_fault(const std::function<void()>& prepare, const std::function<void()>& step,
                       const std::function<void()>& check) {
    prepare();
    files->start();
    step();
    const int operations = files->operations();
    ASSERT_GT(operations, 2);
    const auto before = open_files();
    for (const int error : errors) {
      for (const bool ever_after : {false, true}) {
        for (int at = 0; at < operations; ++at) {
          SCOPED_TRACE(error_text(-error) + (ever_after ? " from operation " : " at operation ") +
                       std::to_string(at));
          prepare();
          files->start();
          files->error = error;
          files->fail_ever_after = ever_after;
          files->fail_at = at;
          EXPECT_NO_THROW(step());
          files->fail_at = FaultyFiles::kNever;
          check();
          if (HasFailure()) return;
        }
      }
    }
    EXPECT_EQ(open_files(), before);
  }

  void expect_healthy() {
    EXPECT_TRUE(store->verify().bad.empty());
    ASSERT_TRUE(store->put(address_of(1), sample_entry(7)));
    EXPECT_EQ(store->get(address_of(1)).entry, sample_entry(7));
  }

  std::vector<int> errors = {EIO, ENOSPC, EACCES, EROFS, EMFILE, ENOENT, ESTALE};
  TestFolder folder;
  LocalSettings settings = local_settings(folder);
  std::shared_ptr<FaultyFiles> files = std::make_shared<FaultyFiles>();
  std::shared_ptr<DirectoryStore> store = open_local(settings, nullptr, files);
};

TEST_F(CacheIoTest, PutIntoNothing) {
  Saved saved;
  settings.sync = Sync::Rename;
  store = open_local(settings, nullptr, files);
  with_each_fault([&] { fs::remove_all(folder.path()); },
                  [&] { saved = store->put(address_of(1), sample_entry(1)); },
                  [&] {
                    EXPECT_EQ(saved.done, saved.reason.empty()) << saved.reason;
                    const auto found = store->get(address_of(1));
                    if (saved) {
                      EXPECT_EQ(found.entry, sample_entry(1));
                    } else {
                      EXPECT_EQ(found.outcome, Outcome::Miss) << found.reason;
                    }
                    expect_healthy();
                  });
}

/// The old entry stays or is replaced; nothing in between is ever visible.
TEST_F(CacheIoTest, PutOverAnOldEntry) {
  Saved saved;
  with_each_fault([&] { ASSERT_TRUE(store->put(address_of(1), sample_entry(1))); },
                  [&] { saved = store->put(address_of(1), sample_entry(2)); },
                  [&] {
                    const auto found = store->get(address_of(1));
                    EXPECT_EQ(found.outcome, Outcome::Hit) << found.reason;
                    EXPECT_EQ(found.entry, sample_entry(saved ? 2 : 1));
                    expect_healthy();
                  });
}

/// Temporary files stay only where removing them failed as well.
TEST_F(CacheIoTest, PutLeavesNothingBehind) {
  Saved saved;
  with_each_fault([&] { store->clear(); }, [&] { saved = store->put(address_of(1), sample_entry(1)); },
                  [&] {
                    if (!files->fail_ever_after) {
                      EXPECT_EQ(store->stats().leftovers, 0u) << saved.reason;
                    }
                  });
}

TEST_F(CacheIoTest, DiskFullInTheMiddle) {
  struct SmallDisk : FileSystem {
    size_t room = 0;
    int64_t write(int file, const char* bytes, size_t size) override {
      if (room == 0) return -ENOSPC;
      const auto count = std::min(room, size);
      room -= count;
      return FileSystem::write(file, bytes, count);
    }
  };
  const auto disk = std::make_shared<SmallDisk>();
  const auto full = open_local(settings, nullptr, disk);
  const auto size = write_entry(sample_entry(1), address_of(1), nullptr).size();
  for (size_t room = 0; room <= size; ++room) {
    disk->room = room;
    const auto saved = full->put(address_of(1), sample_entry(1));
    EXPECT_EQ(saved.done, room == size) << room;
    if (!saved) {
      EXPECT_NE(saved.reason.find("No space left on device"), std::string::npos) << saved.reason;
    }
    EXPECT_EQ(full->get(address_of(1)).outcome, saved ? Outcome::Hit : Outcome::Miss);
  }
  EXPECT_EQ(store->stats().leftovers, 0u);
}

TEST_F(CacheIoTest, Get) {
  Loaded found;
  with_each_fault([&] { ASSERT_TRUE(store->put(address_of(1), sample_entry(1))); },
                  [&] { found = store->get(address_of(1)); },
                  [&] {
                    if (found.outcome == Outcome::Hit) {
                      EXPECT_EQ(found.entry, sample_entry(1));
                    } else {
                      EXPECT_EQ(found.outcome, Outcome::Miss) << found.reason;
                      EXPECT_TRUE(files->error == ENOENT || !found.reason.empty());
                    }
                    // An entry that cannot be read is kept: reading may work later.
                    EXPECT_EQ(store->get(address_of(1)).outcome, Outcome::Hit);
                  });
}

TEST_F(CacheIoTest, GetOfADamagedEntry) {
  const auto file = testing::path_of(folder.path(), address_of(1));
  with_each_fault(
      [&] {
        ASSERT_TRUE(store->put(address_of(1), sample_entry(1)));
        fs::resize_file(file, 50);
      },
      [&] { EXPECT_NE(store->get(address_of(1)).outcome, Outcome::Hit); },
      [&] {
        ASSERT_TRUE(store->put(address_of(1), sample_entry(1)));
        EXPECT_EQ(store->get(address_of(1)).outcome, Outcome::Hit);
      });
}

TEST_F(CacheIoTest, Search) {
  int hits = 0;
  with_each_fault(
      [&] {
        for (uint64_t i = 1; i <= 3; ++i)
          ASSERT_TRUE(store->put(address_of(1, i), sample_entry(static_cast<int>(i))));
        hits = 0;
      },
      [&] {
        store->search(address_of(1).key, [&](const Address& address, const Loaded& loaded) {
          if (loaded.outcome != Outcome::Hit) return false;
          EXPECT_EQ(loaded.entry, sample_entry(static_cast<int>(address.variant)));
          ++hits;
          return false;
        });
      },
      [&] { EXPECT_LE(hits, 3); });
}

TEST_F(CacheIoTest, Maintenance) {
  settings.limit_bytes = 4 * 4096;
  store = open_local(settings, nullptr, files);
  const auto fill = [&] {
    for (int i = 0; i < 6; ++i) ASSERT_TRUE(store->put(address_of(i), sample_entry(i)));
  };
  const auto healthy = [&] { expect_healthy(); };
  errors = {EIO, ENOENT};
  with_each_fault(
      fill, [&] { store->collect(); }, healthy);
  with_each_fault(
      fill, [&] { store->verify(); }, [&] { EXPECT_EQ(store->list().size(), 6u); });
  with_each_fault(
      fill, [&] { store->stats(); }, [&] { EXPECT_EQ(store->list().size(), 6u); });
  with_each_fault(
      fill, [&] { store->clear(); }, healthy);
}

/// A report does not count entries as good that it could not read.
TEST_F(CacheIoTest, VerifyCountsWhatItCannotRead) {
  ASSERT_TRUE(store->put(address_of(1), sample_entry(1)));
  files->start();
  store->verify();
  const int operations = files->operations();
  for (int at = 0; at < operations; ++at) {
    files->start();
    files->fail_at = at;
    const auto report = store->verify();
    files->fail_at = FaultyFiles::kNever;
    EXPECT_LE(report.good + report.bad.size(), 1u) << at;
    if (report.good == 0) {
      EXPECT_FALSE(report.bad.empty() && report.problems.empty()) << at;
    }
  }
}

TEST_F(CacheIoTest, Opening) {
  OpenedStore opened;
  with_each_fault([&] { fs::remove_all(folder.path()); },
                  [&] { opened = open_local_store(settings, nullptr, files); },
                  [&] { EXPECT_EQ(opened.store == nullptr, !opened.reason.empty()); });
}

}  // namespace
}  // namespace antegrad::cache
