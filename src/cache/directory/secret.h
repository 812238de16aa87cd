#pragma once
#include <memory>
#include <string>

#include "cache/directory/file_system.h"

namespace antegrad::cache {

/// The key of MACs. Wiped when it goes; never printed.
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
  std::shared_ptr<const Secret> secret;  ///< null when there is a reason
  std::string reason;
};

/// The contents of a key file without line breaks at its end: 16 to 4096 bytes. The file must belong to this
/// user or root, and others must neither read nor write it, nor its group write it. Symbolic links are
/// followed.
ReadSecret read_key_file(FileSystem& files, const std::string& path);

}  // namespace antegrad::cache
