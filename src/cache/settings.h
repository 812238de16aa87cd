#pragma once
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

struct Settings {
  LocalSettings local;
  SharedSettings shared;
  /// Empty: no MACs. Otherwise every entry gets one and needs one, also in the local directory.
  std::string key_file;
};

}  // namespace antegrad::cache
