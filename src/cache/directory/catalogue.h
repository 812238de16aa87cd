#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cache/directory/folder.h"
#include "cache/format/address.h"

namespace antegrad::cache {

/// Where a store keeps an entry: the key's first two digits are the folder, the rest of the address is the
/// name.
std::string folder_name(const Digest& key);
std::string file_name(const Address& address);

struct EntryInfo {
  Address address;
  uint64_t bytes = 0;
  int64_t used = 0;         ///< seconds since 1970 of the last write or, to the hour, read
  int64_t nanoseconds = 0;  ///< to be added to it: many entries are written in one second
};

/// A file that was not finished: its writer is at work, or died.
struct Leftover {
  std::string folder;
  std::string name;
  uint64_t bytes = 0;
  int64_t modified = 0;
};

/// All that is in the directory of a store.
struct Catalogue {
  std::vector<EntryInfo> entries;  ///< in the order of addresses
  std::vector<Leftover> leftovers;
  uint64_t strangers = 0;             ///< files and folders that no store made
  std::vector<std::string> problems;  ///< folders that cannot be read, or are refused
};

Catalogue read_catalogue(FileSystem& files, const Handle& root, const FolderRules& rules);

/// Disks keep whole blocks: with many small entries, that counts.
uint64_t bytes_on_disk(uint64_t bytes);

/// What must go so that at most `limit` bytes on disk remain: what was not used for longest first. Nothing
/// while the limit holds; else enough that it holds for a while. Times in the future come from a clock that
/// was wrong and say nothing, so they go before all others.
std::vector<EntryInfo> over_limit(std::vector<EntryInfo> entries, uint64_t limit, int64_t now);

/// Whether nobody writes to it any more, as far as clocks can be believed.
bool is_stale(const Leftover& leftover, int64_t now);

}  // namespace antegrad::cache
