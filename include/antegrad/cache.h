#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "antegrad/function.h"

/// The caches of this process: compiled functions and compiled kernels. See docs/caching.md.
namespace antegrad {

/// Where compiled code is cached. Empty fields are taken from the environment (docs/caching.md).
struct CacheConfig {
  std::string directory;                   ///< the local directory, private to this user
  int64_t limit_bytes = int64_t{5} << 30;  ///< size limit of the local directory; 0 means no limit
  std::string shared_directory;  ///< a directory shared between users or machines; requires a key file
  bool write_shared = false;     ///< whether the shared directory is written as well as read
  std::string redis;             ///< "redis://host:port" or "unix:///path"; requires a key file
  bool write_redis = false;      ///< whether Redis is written as well as read
  std::string key_file;          ///< the file with the secret that authenticates entries
};

/// Applies to functions that are captured from now on.
void configure_cache(const CacheConfig& config);

/// Statistics of the caches of this process.
struct CacheReport {
  std::string directory;             ///< the local directory; empty when there is none
  CacheCounts functions;             ///< lookups of all functions of this process
  CacheCounts kernels;               ///< lookups of kernels of functions that were not cache hits
  std::vector<std::string> reasons;  ///< why an entry was not used or not stored; each reason once
};
/// Returns the statistics of this process up to now.
CacheReport cache_report();

/// Waits until all entries are stored, which happens in the background. Returns whether they were within
/// `timeout`.
bool flush_cache(std::chrono::milliseconds timeout = std::chrono::seconds(10));

/// Returns all entries that this process has used or created, as one byte string; empty when there are none.
std::string export_cache();

/// The result of importing a bundle.
struct CacheImport {
  uint64_t imported = 0;             ///< number of entries imported
  std::vector<std::string> reasons;  ///< what was not imported, or cannot be used on this machine, and why
};
/// Imports what export_cache() returned, on this or another machine.
CacheImport import_cache(std::string_view bundle);

}  // namespace antegrad
