#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace antegrad::cache {

struct FileStatus {
  bool regular = false;
  bool directory = false;
  uint32_t permissions = 0;  ///< the lowest twelve bits of the mode
  uint32_t owner = 0;
  uint64_t size = 0;
  int64_t modified = 0;     ///< seconds since 1970
  int64_t nanoseconds = 0;  ///< to be added to `modified`
};

/// The system calls that a store makes. Tests override them to make them fail. They return the result of the
/// call, or -errno, and are restarted after signals. `at` is an open directory or AT_FDCWD; symbolic links
/// are not followed in the last component of a name.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  virtual int open_directory(int at, const std::string& name);
  virtual int make_directory(int at, const std::string& name, uint32_t mode);
  /// Returns names in no particular order, without "." and "..".
  virtual int list(int directory, std::vector<std::string>& names);

  /// Never blocks, not even on a FIFO.
  virtual int open_file(int at, const std::string& name);
  /// Opens for writing; returns -EEXIST when the name exists.
  virtual int create_file(int at, const std::string& name, uint32_t mode);
  virtual int64_t read(int file, char* bytes, size_t size);
  virtual int64_t write(int file, const char* bytes, size_t size);
  /// Flushes the contents to disk.
  virtual int sync(int file);
  virtual int close(int file);

  virtual int status(int file, FileStatus& status);
  virtual int status_at(int at, const std::string& name, FileStatus& status);
  virtual int set_modified(int file, int64_t seconds);
  virtual int rename(int at, const std::string& from, const std::string& to);
  virtual int remove(int at, const std::string& name);

  virtual uint32_t user();
  virtual int64_t now();
};

/// Owns an open file or directory.
class Handle {
 public:
  Handle() = default;
  Handle(FileSystem& files, int number) : files_(&files), number_(number) {}
  Handle(Handle&& other) noexcept : files_(other.files_), number_(std::exchange(other.number_, -1)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(files_, other.files_);
    std::swap(number_, other.number_);
    return *this;
  }
  ~Handle() { close(); }

  bool is_open() const { return number_ >= 0; }
  int number() const { return number_; }
  int close() { return is_open() ? files_->close(std::exchange(number_, -1)) : 0; }

 private:
  FileSystem* files_ = nullptr;
  int number_ = -1;
};

/// Returns the system's message for a -errno.
std::string error_text(int64_t result);

}  // namespace antegrad::cache
