#pragma once
#include <chrono>
#include <cstdint>
#include <string>

namespace antegrad::cache {

/// When the contents of an entry must be on disk.
enum class Sync {
  /// No guarantee. After a power failure an entry may be damaged, which is detected, and it is made again.
  Never,
  Rename,  ///< before the entry is renamed to its final name
};

struct LocalSettings {
  bool enabled = true;
  std::string directory;                     ///< empty for none (default_directory() finds one)
  uint64_t limit_bytes = uint64_t{5} << 30;  ///< 0 for no limit
  /// How many writes there are between checks of the limit; 0 for no checks.
  unsigned writes_per_collection = 256;
  Sync sync = Sync::Never;
  bool read_only = false;
};

/// A directory that several users or machines share. Only entries with a valid MAC are trusted, so it needs a
/// key file.
struct SharedSettings {
  std::string directory;  ///< empty for none
  bool write = false;
};

/// A Redis server. Here too, only entries with a valid MAC are trusted.
struct RedisSettings {
  /// Empty for none. "redis://[[user]:password@]host[:port][/database]", the same with "rediss://" for TLS,
  /// or "unix://[[user]:password@]/path[?db=database]". Special characters in user, password and path are
  /// written as %XX.
  std::string url;
  bool write = false;
  /// Certificate authorities that TLS servers are verified against; empty for those the system trusts.
  std::string ca_file;
  std::chrono::milliseconds connect_timeout{100};  ///< including name resolution and TLS
  std::chrono::milliseconds command_timeout{250};  ///< plus 50 ms for each MB transferred
  /// How long a server is left alone after its first failure; the pause doubles with each failure up to the
  /// longest.
  std::chrono::milliseconds first_pause{1'000}, longest_pause{300'000};
  uint64_t limit_bytes = uint64_t{64} << 20;  ///< of one entry
  std::chrono::seconds expiry{0};             ///< of written entries; 0 for never
};

struct Settings {
  LocalSettings local;
  SharedSettings shared;
  RedisSettings redis;
  /// Empty for no MACs. Otherwise every entry gets a MAC and must have one, also in the local directory.
  std::string key_file;
};

}  // namespace antegrad::cache
