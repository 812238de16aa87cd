#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "antegrad/function.h"

/// The caches of this process: whole compiled functions and the code of kernels. docs/caching.md has the rules.
namespace antegrad {

/// Where compiled code is kept. Empty fields are taken from the environment (docs/caching.md).
struct CacheConfig {
  std::string directory;                   ///< of this user alone
  int64_t limit_bytes = int64_t{5} << 30;  ///< of that directory; 0: no limit
  std::string shared_directory;            ///< that several users or machines see; needs a key file
  bool write_shared = false;               ///< else it is only read
  std::string redis;                       ///< "redis://host:port", "unix:///path"; needs a key file
  bool write_redis = false;                ///< else it is only read
  std::string key_file;                    ///< the secret that entries are authenticated with
};

/// For functions captured from now on.
void configure_cache(const CacheConfig& config);

/// What the caches have done so far.
struct CacheReport {
  std::string directory;             ///< "": nothing is kept on this machine
  CacheCounts functions;             ///< of all functions of this process
  CacheCounts kernels;               ///< of kernels that were not part of a function that was a hit
  std::vector<std::string> reasons;  ///< why something is not used, or was not stored; each once
};
/// Of this process, up to now.
CacheReport cache_report();

/// Stored entries are written in the background. Gives whether all were written in time.
bool flush_cache(std::chrono::milliseconds timeout = std::chrono::seconds(10));

/// All entries that this process has used or made since it was started, as one byte string; "": none.
std::string export_cache();

/// What became of a bundle.
struct CacheImport {
  uint64_t imported = 0;             ///< entries
  std::vector<std::string> reasons;  ///< what was not imported, or cannot be used on this machine, and why
};
/// Takes in what export_cache() gave, here or on another machine.
CacheImport import_cache(std::string_view bundle);

}  // namespace antegrad
