#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cache/directory/folder.h"
#include "cache/format/address.h"

namespace antegrad::cache {

/// The place of an entry in a store: the folder is the key's first two digits, the name is the rest of the
/// address.
std::string folder_name(const Digest& key);
std::string file_name(const Address& address);

struct EntryInfo {
  Address address;
  uint64_t bytes = 0;
  int64_t used = 0;         ///< seconds since 1970 of the last write or, with a precision of an hour, read
  int64_t nanoseconds = 0;  ///< to be added to `used`: many entries are written in one second
};

/// An unfinished file, whose writer is still at work or died.
struct Leftover {
  std::string folder;
  std::string name;
  uint64_t bytes = 0;
  int64_t modified = 0;
};

/// Everything in the directory of a store.
struct Catalogue {
  std::vector<EntryInfo> entries;  ///< sorted by address
  std::vector<Leftover> leftovers;
  uint64_t strangers = 0;             ///< files and folders that no store made
  std::vector<std::string> problems;  ///< folders that cannot be read or are refused
};

Catalogue read_catalogue(FileSystem& files, const Handle& root, const FolderRules& rules);

/// Rounds up to whole blocks, which matters for many small entries.
uint64_t bytes_on_disk(uint64_t bytes);

/// Returns the entries to remove so that at most `limit` bytes on disk remain, least recently used first.
/// Empty while the limit holds; otherwise enough that it will hold for a while. Times in the future come from
/// a wrong clock and mean nothing, so these entries go first.
std::vector<EntryInfo> over_limit(std::vector<EntryInfo> entries, uint64_t limit, int64_t now);

/// Whether nobody is writing to it any more, as far as clocks can be trusted.
bool is_stale(const Leftover& leftover, int64_t now);

}  // namespace antegrad::cache
