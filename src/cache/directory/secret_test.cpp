#include "cache/directory/secret.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "fault/cache_faults.h"

namespace antegrad::cache {
namespace {

class SecretTest : public ::testing::Test {
 protected:
  ReadSecret read(std::string_view contents, uint32_t mode = 0600) {
    testing::write_file(path, contents);
    ::chmod(path.c_str(), mode);
    return read_key_file(files, path);
  }
  void expect_refused(const ReadSecret& read, const std::string& reason) {
    EXPECT_FALSE(read.secret);
    EXPECT_EQ(read.reason, "the key file " + path + " " + reason);
  }
  testing::TestFolder folder;
  std::string path = folder.parent() / "key";
  testing::FaultyFiles files;
};

TEST_F(SecretTest, ContentsWithoutLineBreaks) {
  for (const auto* end : {"", "\n", "\r\n", "\n\n"}) {
    const auto found = read(std::string("0123456789abcdef") + end);
    ASSERT_TRUE(found.secret) << found.reason;
    EXPECT_EQ(found.secret->bytes(), "0123456789abcdef");
  }
  EXPECT_EQ(read(std::string_view("0123\n567\0 abcdef ", 17)).secret->bytes().size(), 17u);
}

TEST_F(SecretTest, Permissions) {
  const std::string contents(32, 'k');
  for (const uint32_t mode : {0600u, 0400u, 0440u}) EXPECT_TRUE(read(contents, mode).secret) << mode;
  for (const uint32_t mode : {0644u, 0620u, 0602u}) {
    expect_refused(read(contents, mode),
                   fmt::format("has permissions {:o}: others may read it, or write to it", mode));
  }
}

TEST_F(SecretTest, Sizes) {
  expect_refused(read("short\n"), "has 5 bytes, less than 16");
  expect_refused(read(""), "has 0 bytes, less than 16");
  expect_refused(read(std::string(4097, 'k')), "has 4097 bytes, more than 4096");
}

TEST_F(SecretTest, WhatIsNotThere) {
  expect_refused(read_key_file(files, path), "cannot be read: No such file or directory");
  std::filesystem::create_directory(path);
  expect_refused(read_key_file(files, path), "is not a file");
}

TEST_F(SecretTest, LinksAreFollowed) {
  testing::write_file(folder.parent() / "target", std::string(32, 'k'));
  std::filesystem::create_symlink("target", path);
  EXPECT_TRUE(read_key_file(files, path).secret);
}

TEST_F(SecretTest, EveryOperationMayFail) {
  ASSERT_TRUE(read(std::string(32, 'k')).secret);
  const int operations = files.operations();
  for (int i = 0; i < operations - 1; ++i) {  // the last one closes the file
    files.start();
    files.fail_at = i;
    expect_refused(read_key_file(files, path), "cannot be read: Input/output error");
  }
}

}  // namespace
}  // namespace antegrad::cache
