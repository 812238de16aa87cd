#include "cache/directory/file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <memory>
#include <string_view>
#include <system_error>

namespace antegrad::cache {
namespace {

/// Returns -errno for a failed call; restarts calls that a signal interrupted.
template <class Call>
auto result_of(const Call& call) -> decltype(call()) {
  for (;;) {
    const auto result = call();
    if (result >= 0) return result;
    if (errno != EINTR) return -errno;
  }
}

FileStatus converted(const struct stat& from) {
  FileStatus status;
  status.regular = S_ISREG(from.st_mode);
  status.directory = S_ISDIR(from.st_mode);
  status.permissions = from.st_mode & 07777u;
  status.owner = from.st_uid;
  status.size = static_cast<uint64_t>(from.st_size);
  status.modified = from.st_mtim.tv_sec;
  status.nanoseconds = from.st_mtim.tv_nsec;
  return status;
}

}  // namespace

std::string error_text(int64_t result) { return std::generic_category().message(static_cast<int>(-result)); }

int FileSystem::open_directory(int at, const std::string& name) {
  return result_of(
      [&] { return ::openat(at, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); });
}

int FileSystem::make_directory(int at, const std::string& name, uint32_t mode) {
  return result_of([&] { return ::mkdirat(at, name.c_str(), mode); });
}

int FileSystem::list(int directory, std::vector<std::string>& names) {
  // Uses another descriptor, because reading a directory moves its position, which a duplicate would share.
  const int own = open_directory(directory, ".");
  if (own < 0) return own;
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(own), &::closedir);
  if (!stream) {
    const int error = errno;
    ::close(own);
    return -error;
  }
  for (;;) {
    errno = 0;
    const dirent* found = ::readdir(stream.get());
    if (!found) return -errno;
    const std::string_view name = found->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
}

int FileSystem::open_file(int at, const std::string& name) {
  return result_of(
      [&] { return ::openat(at, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC); });
}

int FileSystem::create_file(int at, const std::string& name, uint32_t mode) {
  return result_of(
      [&] { return ::openat(at, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode); });
}

int64_t FileSystem::read(int file, char* bytes, size_t size) {
  return result_of([&]() -> int64_t { return ::read(file, bytes, size); });
}

int64_t FileSystem::write(int file, const char* bytes, size_t size) {
  return result_of([&]() -> int64_t { return ::write(file, bytes, size); });
}

int FileSystem::sync(int file) {
  return result_of([&] { return ::fdatasync(file); });
}

int FileSystem::close(int file) {
  // Never retried: Linux has released the descriptor even if a signal interrupted the call.
  return ::close(file) == 0 || errno == EINTR ? 0 : -errno;
}

int FileSystem::status(int file, FileStatus& status) {
  struct stat found {};
  const int result = result_of([&] { return ::fstat(file, &found); });
  status = converted(found);
  return result;
}

int FileSystem::status_at(int at, const std::string& name, FileStatus& status) {
  struct stat found {};
  const int result = result_of([&] { return ::fstatat(at, name.c_str(), &found, AT_SYMLINK_NOFOLLOW); });
  status = converted(found);
  return result;
}

int FileSystem::set_modified(int file, int64_t seconds) {
  const timespec times[2] = {{0, UTIME_OMIT}, {seconds, 0}};
  return result_of([&] { return ::futimens(file, times); });
}

int FileSystem::rename(int at, const std::string& from, const std::string& to) {
  return result_of([&] { return ::renameat(at, from.c_str(), at, to.c_str()); });
}

int FileSystem::remove(int at, const std::string& name) {
  return result_of([&] { return ::unlinkat(at, name.c_str(), 0); });
}

uint32_t FileSystem::user() { return ::geteuid(); }

int64_t FileSystem::now() { return static_cast<int64_t>(::time(nullptr)); }

}  // namespace antegrad::cache
