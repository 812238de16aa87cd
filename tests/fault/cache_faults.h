#pragma once
// What cache tests share: a temporary folder, a file system that fails on demand, sample entries.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>

#include "cache/directory/local_store.h"

namespace antegrad::cache::testing {

/// A folder that is deleted with the object. path() does not exist yet, its parent does.
class TestFolder {
 public:
  TestFolder() {
    auto pattern = (std::filesystem::temp_directory_path() / "antegrad-cache-XXXXXX").string();
    if (!::mkdtemp(pattern.data())) ADD_FAILURE() << "cannot make " << pattern;
    parent_ = pattern;
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(parent_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  std::filesystem::path parent() const { return parent_; }
  std::string path() const { return parent_ / "cache"; }

 private:
  std::filesystem::path parent_;
};

/// The real file system, except that one operation, or all from one on, fail. Operations are counted from 0;
/// closing a file counts, and closes it even when it is to fail.
class FaultyFiles : public FileSystem {
 public:
  static constexpr int kNever = -1;

  int fail_at = kNever;
  int error = EIO;
  bool fail_ever_after = false;
  int kill_at = kNever;  ///< sends SIGKILL to this process before this operation; during it, for writes
  size_t most_a_write = ~size_t{0};           ///< the most bytes that one call writes
  int64_t clock_shift = 0;                    ///< seconds
  std::function<void(int operation)> before;  ///< called before each operation

  int operations() const { return operations_; }
  void start() { operations_ = 0; }

  int open_directory(int at, const std::string& name) override {
    return failed() ? -error : FileSystem::open_directory(at, name);
  }
  int make_directory(int at, const std::string& name, uint32_t mode) override {
    return failed() ? -error : FileSystem::make_directory(at, name, mode);
  }
  int list(int directory, std::vector<std::string>& names) override {
    return failed() ? -error : FileSystem::list(directory, names);
  }
  int open_file(int at, const std::string& name) override {
    return failed() ? -error : FileSystem::open_file(at, name);
  }
  int create_file(int at, const std::string& name, uint32_t mode) override {
    return failed() ? -error : FileSystem::create_file(at, name, mode);
  }
  int64_t read(int file, char* bytes, size_t size) override {
    return failed() ? -error : FileSystem::read(file, bytes, size);
  }
  int64_t write(int file, const char* bytes, size_t size) override {
    if (operations_ == kill_at) FileSystem::write(file, bytes, size / 2);
    return failed() ? -error : FileSystem::write(file, bytes, std::min(size, most_a_write));
  }
  int sync(int file) override { return failed() ? -error : FileSystem::sync(file); }
  int close(int file) override {
    const bool fails = failed();
    const int result = FileSystem::close(file);
    return fails ? -error : result;
  }
  int status(int file, FileStatus& status) override {
    return failed() ? -error : FileSystem::status(file, status);
  }
  int status_at(int at, const std::string& name, FileStatus& status) override {
    return failed() ? -error : FileSystem::status_at(at, name, status);
  }
  int set_modified(int file, int64_t seconds) override {
    return failed() ? -error : FileSystem::set_modified(file, seconds);
  }
  int rename(int at, const std::string& from, const std::string& to) override {
    return failed() ? -error : FileSystem::rename(at, from, to);
  }
  int remove(int at, const std::string& name) override {
    return failed() ? -error : FileSystem::remove(at, name);
  }
  int64_t now() override { return FileSystem::now() + clock_shift; }

 private:
  bool failed() {
    const int operation = operations_++;
    if (before) before(operation);
    if (operation == kill_at) ::kill(::getpid(), SIGKILL);
    return fail_at != kNever && (operation == fail_at || (fail_ever_after && operation > fail_at));
  }

  std::atomic<int> operations_{0};
};

/// Runs in a child process. Returns the signal that ended it, or minus its exit status.
inline int in_child(const std::function<void()>& run) {
  const pid_t child = ::fork();
  if (child == 0) {
    run();
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

/// Runs as an unprivileged user where this process may change its user, else as the current one.
inline int in_child_without_rights(const std::function<void()>& run) {
  return in_child([&] {
    constexpr uid_t kNoNode = 65534;
    if (::geteuid() == 0 && ::setuid(kNoNode) != 0) ::_exit(2);
    run();
  });
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_file(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
  ::chmod(path.c_str(), 0600);
}

inline uint32_t mode_of(const std::filesystem::path& path) {
  struct stat found {};
  return ::lstat(path.c_str(), &found) == 0 ? found.st_mode & 07777 : 0;
}

inline Address address_of(int number, uint64_t variant = 0) {
  return {sha256("key " + std::to_string(number)), variant};
}

/// Returns an entry whose sections all depend on `number`.
inline Entry sample_entry(int number, size_t bytes = 300) {
  std::string object(bytes, '\0');
  for (size_t i = 0; i < bytes; ++i) object[i] = static_cast<char>(i * 7 + static_cast<size_t>(number));
  return {{{"signature", "function " + std::to_string(number)}, {"empty", ""}, {"object", object}}};
}

/// Returns the file that holds an entry.
inline std::filesystem::path path_of(const std::string& directory, const Address& address) {
  return std::filesystem::path(directory) / folder_name(address.key) / file_name(address);
}

inline std::shared_ptr<const Secret> secret_of(const std::string& text) {
  return std::make_shared<const Secret>("a secret that is long enough: " + text);
}

inline LocalSettings local_settings(const TestFolder& folder) {
  LocalSettings settings;
  settings.directory = folder.path();
  settings.writes_per_collection = 0;
  return settings;
}

inline std::shared_ptr<DirectoryStore> open_local(const LocalSettings& settings,
                                                  std::shared_ptr<const Secret> secret = nullptr,
                                                  std::shared_ptr<FileSystem> files = nullptr) {
  if (!files) files = std::make_shared<FileSystem>();
  auto opened = open_local_store(settings, std::move(secret), std::move(files));
  EXPECT_TRUE(opened.store) << opened.reason;
  return opened.store;
}

}  // namespace antegrad::cache::testing
