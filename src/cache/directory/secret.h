#pragma once
#include <memory>
#include <string>

#include "cache/directory/file_system.h"

namespace antegrad::cache {

/// The key for MACs. Wiped by the destructor; never printed.
class Secret {
 public:
  explicit Secret(std::string bytes) : bytes_(std::move(bytes)) {}
  ~Secret();
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

struct ReadSecret {
  std::shared_ptr<const Secret> secret;  ///< null on failure
  std::string reason;
};

/// Reads a key file: 16 to 4096 bytes, not counting line breaks at the end. The file must belong to this user
/// or root; it must not be readable or writable by others, nor writable by its group. Symbolic links are
/// followed.
ReadSecret read_key_file(FileSystem& files, const std::string& path);

}  // namespace antegrad::cache
