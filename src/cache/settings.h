#pragma once
#include <chrono>
#include <cstdint>
#include <string>

namespace antegrad::cache {

/// When the contents of an entry must be on the disk.
enum class Sync {
  Never,   ///< when the system likes. After a power cut an entry may be damaged; it is found out and made
           ///< again
  Rename,  ///< before the entry gets its name
};

struct LocalSettings {
  bool enabled = true;
  std::string directory;                     ///< empty: none (default_directory() finds one)
  uint64_t limit_bytes = uint64_t{5} << 30;  ///< 0: no limit
  unsigned writes_per_collection = 256;      ///< how often writing looks at the limit; 0: never
  Sync sync = Sync::Never;
  bool read_only = false;
};

/// A directory that several users or machines see. Only the MAC is believed, so it needs a key file.
struct SharedSettings {
  std::string directory;  ///< empty: none
  bool write = false;
};

/// A Redis server. Only the MAC is believed here, too.
struct RedisSettings {
  /// Empty: none. "redis://[[user]:password@]host[:port][/database]", "rediss://" and the same for TLS, or
  /// "unix://[[user]:password@]/path[?db=database]". What is special in user, password and path is written
  /// as %XX.
  std::string url;
  bool write = false;
  std::string ca_file;  ///< whose signature a TLS server needs; empty: what the system trusts
  std::chrono::milliseconds connect_timeout{100};  ///< names and TLS included
  std::chrono::milliseconds command_timeout{250};  ///< and 50 ms more for each MB that does arrive
  /// How long a server that failed is left alone: at first, and after doubling with each failure.
  std::chrono::milliseconds first_pause{1'000}, longest_pause{300'000};
  uint64_t limit_bytes = uint64_t{64} << 20;  ///< of one entry
  std::chrono::seconds expiry{0};             ///< of what is written; 0: never
};

struct Settings {
  LocalSettings local;
  SharedSettings shared;
  RedisSettings redis;
  /// Empty: no MACs. Otherwise every entry gets one and needs one, also in the local directory.
  std::string key_file;
};

}  // namespace antegrad::cache
