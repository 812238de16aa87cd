#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/cache/cache_results.h"

namespace antegrad::cli {

/// How a command uses the directory. Reading changes nothing, not even times of last use.
enum class Access { Read, Change, Create };

/// Empty members are determined as the library does.
struct CachePlace {
  std::string directory;
  std::string key_file;
};

/// The directory of a cache as one command sees it. `where` is the prefix of its errors, such as
/// "cache:show".
class CacheView {
 public:
  /// Throws Error when there is no such cache, or it must not be used. `limit_bytes` is for gc.
  CacheView(std::string where, const CachePlace& place, Access access, uint64_t limit_bytes);

  cache::DirectoryStore& store() const { return *store_; }
  const cache::Secret* secret() const { return secret_.get(); }
  const std::string& where() const { return where_; }
  int64_t now() const;

  /// Most recently used first.
  std::vector<cache::EntryInfo> entries() const;
  ListedEntry read(const cache::EntryInfo& info) const;

  /// Returns the entries of the only key that starts with these digits; with "-" and more digits, only those
  /// whose variant starts with them. Throws UsageError when it is not such a prefix, Error when it matches no
  /// key or several.
  std::vector<cache::EntryInfo> find(const std::string& beginning) const;
  /// Returns the most recently used of these entries, which must be readable.
  ListedEntry find_key(const std::string& beginning) const;

 private:
  std::vector<cache::EntryInfo> matching(const std::string& beginning) const;
  [[noreturn]] void ambiguous(const std::string& beginning, const std::vector<cache::EntryInfo>& found) const;

  const std::string where_;
  std::shared_ptr<const cache::Secret> secret_;
  std::shared_ptr<cache::DirectoryStore> store_;
};

}  // namespace antegrad::cli
