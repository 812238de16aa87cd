#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/cache/cache_results.h"

namespace antegrad::cli {

/// What a command does with the directory. Reading changes nothing, not even times of last use.
enum class Access { Read, Change, Create };

/// Empty ones are found as the library finds them.
struct CachePlace {
  std::string directory;
  std::string key_file;
};

/// The directory of a cache as one command sees it; `where` begins its errors, as in "cache:show".
class CacheView {
 public:
  /// Throws Error when there is no such cache, or none that may be used. `limit_bytes` is for gc.
  CacheView(std::string where, const CachePlace& place, Access access, uint64_t limit_bytes);

  cache::DirectoryStore& store() const { return *store_; }
  const cache::Secret* secret() const { return secret_.get(); }
  const std::string& where() const { return where_; }
  int64_t now() const;

  /// Those used last come first.
  std::vector<cache::EntryInfo> entries() const;
  ListedEntry read(const cache::EntryInfo& info) const;

  /// The entries of the one key that begins so; with "-" and digits after it, only those whose variant begins
  /// with these. Throws UsageError when it is no beginning, Error when there is none, or more than one key.
  std::vector<cache::EntryInfo> find(const std::string& beginning) const;
  /// One of them, which must be readable.
  ListedEntry find_key(const std::string& beginning) const;

 private:
  std::vector<cache::EntryInfo> matching(const std::string& beginning) const;
  [[noreturn]] void ambiguous(const std::string& beginning, const std::vector<cache::EntryInfo>& found) const;

  const std::string where_;
  std::shared_ptr<const cache::Secret> secret_;
  std::shared_ptr<cache::DirectoryStore> store_;
};

}  // namespace antegrad::cli
