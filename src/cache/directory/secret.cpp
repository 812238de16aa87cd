#include "cache/directory/secret.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/crypto.h>

#include <filesystem>

#include "cache/directory/folder.h"

namespace antegrad::cache {
namespace {

constexpr size_t kMinBytes = 16;
constexpr size_t kMaxBytes = 4096;

std::string owner_problem(FileSystem& files, const FileStatus& status) {
  if (!status.regular) return "is not a file";
  if (status.owner != files.user() && status.owner != 0) {
    return fmt::format("belongs to user {}, not to {} or root", status.owner, files.user());
  }
  if (status.permissions & 026) {
    return fmt::format("has permissions {:o}: others may read it, or write to it", status.permissions);
  }
  if (status.size > kMaxBytes) return fmt::format("has {} bytes, more than {}", status.size, kMaxBytes);
  return {};
}

ReadSecret refused(const std::string& path, const std::string& problem) {
  return {nullptr, fmt::format("the key file {} {}", path, problem)};
}

}  // namespace

Secret::~Secret() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }

ReadSecret read_key_file(FileSystem& files, const std::string& path) {
  std::error_code error;
  const auto target = std::filesystem::canonical(path, error).string();
  if (error) return refused(path, "cannot be read: " + error.message());
  const Handle file(files, files.open_file(AT_FDCWD, target));
  if (!file.is_open()) return refused(path, "cannot be read: " + error_text(file.number()));
  FileStatus status;
  if (const int result = files.status(file.number(), status); result < 0) {
    return refused(path, "cannot be read: " + error_text(result));
  }
  if (const auto problem = owner_problem(files, status); !problem.empty()) return refused(path, problem);
  std::string bytes(status.size, '\0');
  if (const auto failure = read_all(files, file, bytes)) return refused(path, failure.reason);
  while (!bytes.empty() && (bytes.back() == '\n' || bytes.back() == '\r')) bytes.pop_back();
  if (bytes.size() < kMinBytes) {
    return refused(path, fmt::format("has {} bytes, less than {}", bytes.size(), kMinBytes));
  }
  return {std::make_shared<const Secret>(std::move(bytes)), {}};
}

}  // namespace antegrad::cache
