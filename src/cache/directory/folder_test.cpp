// Which directories are trusted, and how files are written.
#include "cache/directory/folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "fault/cache_faults.h"

namespace antegrad::cache {
namespace {

namespace fs = std::filesystem;
using testing::FaultyFiles;
using testing::mode_of;
using testing::TestFolder;

const FolderRules kOurs;
const FolderRules kAnybodys{.ours_only = false, .directory_mode = 0777, .file_mode = 0666};

class FolderTest : public ::testing::Test {
 protected:
  OpenedFolder root(bool create = false) { return open_root(files, folder.path(), kOurs, create); }
  void expect_refused(const Failure& failure, const std::string& reason) {
    EXPECT_EQ(failure.kind, Failure::Refused) << failure.reason;
    EXPECT_NE(failure.reason.find(reason), std::string::npos) << failure.reason;
  }
  TestFolder folder;
  FaultyFiles files;
};

TEST_F(FolderTest, MadeForThisUserOnly) {
  EXPECT_EQ(root().failure.kind, Failure::Absent);
  const auto deep = folder.path() + "/a/b";
  const auto opened = open_root(files, deep, kOurs, true);
  ASSERT_TRUE(opened.handle.is_open()) << opened.failure.reason;
  for (const auto& path : {folder.path(), folder.path() + "/a", deep})
    EXPECT_EQ(mode_of(path), 0700u) << path;
  ASSERT_FALSE(open_folder(files, opened.handle, "0f", kOurs, true).failure);
  EXPECT_EQ(mode_of(deep + "/0f"), 0700u);
  ASSERT_FALSE(write_file(files, opened.handle, "file", "text", kOurs, Sync::Rename));
  EXPECT_EQ(mode_of(deep + "/file"), 0600u);
  EXPECT_EQ(testing::read_file(deep + "/file"), "text");
}

TEST_F(FolderTest, RefusesWhatOthersCanWrite) {
  fs::create_directory(folder.path());
  for (const uint32_t mode : {0720u, 0702u, 0777u, 01777u}) {
    ::chmod(folder.path().c_str(), mode);
    expect_refused(root(true).failure, "can be written by others");
    EXPECT_FALSE(open_root(files, folder.path(), kAnybodys, false).failure);
  }
  ::chmod(folder.path().c_str(), 0755);
  EXPECT_FALSE(root().failure);
}

TEST_F(FolderTest, RefusesWhatBelongsToOthers) {
  struct OtherUser : FileSystem {
    uint32_t user() override { return FileSystem::user() + 1; }
  } other;
  fs::create_directory(folder.path());
  ::chmod(folder.path().c_str(), 0700);
  expect_refused(
      open_root(other, folder.path(), kOurs, true).failure,
      "belongs to user " + std::to_string(::geteuid()) + ", not to " + std::to_string(::geteuid() + 1));
  testing::write_file(folder.path() + "/file", "text");
  const auto opened = root();
  expect_refused(open_file(other, opened.handle, "file", kOurs).failure, "file belongs to user");
  EXPECT_FALSE(open_file(other, opened.handle, "file", kAnybodys).failure);
}

TEST_F(FolderTest, FollowsNoLinks) {
  const auto target = folder.parent() / "target";
  fs::create_directory(target);
  ::chmod(target.c_str(), 0700);
  fs::create_directory_symlink(target, folder.path());
  expect_refused(root(true).failure, "is a symbolic link or not a directory");
  fs::remove(folder.path());
  const auto opened = root(true);
  fs::create_directory_symlink(target, folder.path() + "/ab");
  expect_refused(open_folder(files, opened.handle, "ab", kOurs, true).failure, "ab is a symbolic link");
  testing::write_file(target / "secret", "text");
  fs::create_symlink(target / "secret", folder.path() + "/file");
  expect_refused(open_file(files, opened.handle, "file", kOurs).failure, "cannot open file");
  // Writing replaces the link rather than its target.
  ASSERT_FALSE(write_file(files, opened.handle, "file", "new", kOurs, Sync::Never));
  EXPECT_EQ(testing::read_file(target / "secret"), "text");
  EXPECT_FALSE(fs::is_symlink(folder.path() + "/file"));
}

TEST_F(FolderTest, LinksAboveTheRootAreTheUsers) {
  fs::create_directory(folder.parent() / "disk");
  fs::create_directory_symlink(folder.parent() / "disk", folder.parent() / "home");
  EXPECT_FALSE(open_root(files, folder.parent() / "home" / "cache", kOurs, true).failure);
  EXPECT_TRUE(fs::is_directory(folder.parent() / "disk" / "cache"));
}

TEST_F(FolderTest, OnlyFilesAreRead) {
  const auto opened = root(true);
  ASSERT_EQ(::mkfifo((folder.path() + "/pipe").c_str(), 0600), 0);
  fs::create_directory(folder.path() + "/folder");
  for (const char* name : {"pipe", "folder"}) {
    expect_refused(open_file(files, opened.handle, name, kAnybodys).failure, "is not a file");
  }
  EXPECT_EQ(open_file(files, opened.handle, "nothing", kOurs).failure.kind, Failure::Absent);
  testing::write_file(folder.path() + "/open", "text");
  ::chmod((folder.path() + "/open").c_str(), 0620);
  expect_refused(open_file(files, opened.handle, "open", kOurs).failure, "can be written by others");
}

TEST_F(FolderTest, ShortWritesAndShortFiles) {
  const auto opened = root(true);
  files.most_a_write = 3;
  ASSERT_FALSE(write_file(files, opened.handle, "file", "a longer text", kOurs, Sync::Never));
  const auto file = open_file(files, opened.handle, "file", kOurs);
  std::string bytes(file.status.size, '\0');
  ASSERT_FALSE(read_all(files, file.handle, bytes));
  EXPECT_EQ(bytes, "a longer text");
  std::string more(20, '\0');
  const auto failure = read_all(files, open_file(files, opened.handle, "file", kOurs).handle, more);
  EXPECT_EQ(failure.kind, Failure::Damaged);
  EXPECT_EQ(failure.reason, "ends after 13 of 20 bytes");
  files.most_a_write = 0;
  EXPECT_EQ(write_file(files, opened.handle, "file", "x", kOurs, Sync::Never).kind, Failure::Io);
}

/// Network file systems and quotas may report lost contents only when a file is closed.
TEST_F(FolderTest, ClosingMayFail) {
  const auto opened = root(true);
  struct LateError : FileSystem {
    int close(int file) override {
      FileSystem::close(file);
      return -EDQUOT;
    }
  } late;
  const auto failure = write_file(late, opened.handle, "file", "text", kOurs, Sync::Never);
  EXPECT_EQ(failure.kind, Failure::Io);
  EXPECT_EQ(failure.reason, "cannot write: Disk quota exceeded");
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST_F(FolderTest, WithoutRights) {
  ::chmod(folder.parent().c_str(), 0555);
  const int result = testing::in_child_without_rights([&] {
    const auto failure = root(true).failure;
    EXPECT_EQ(failure.kind, Failure::Io);
    EXPECT_EQ(failure.reason, "cannot make " + folder.path() + ": Permission denied");
  });
  EXPECT_EQ(result, 0);
  ::chmod(folder.parent().c_str(), 0700);
}

/// A writer never takes an existing temporary name, even if it cannot see its rivals.
TEST_F(FolderTest, TemporaryNames) {
  const auto opened = root(true);
  files.before = [&](int) {
    std::vector<std::string> names;
    FileSystem().list(opened.handle.number(), names);
    for (const auto& name : names) EXPECT_TRUE(is_temporary_name(name) || name == "file") << name;
  };
  for (int i = 0; i < 3; ++i) ASSERT_FALSE(write_file(files, opened.handle, "file", "x", kOurs, Sync::Never));
  struct NamesTaken : FileSystem {
    int create_file(int, const std::string& name, uint32_t) override {
      names.push_back(name);
      return -EEXIST;
    }
    std::vector<std::string> names;
  } taken;
  EXPECT_EQ(write_file(taken, opened.handle, "file", "x", kOurs, Sync::Never).kind, Failure::Io);
  EXPECT_GT(taken.names.size(), 3u);
  EXPECT_NE(taken.names[0], taken.names[1]);
}

}  // namespace
}  // namespace antegrad::cache
