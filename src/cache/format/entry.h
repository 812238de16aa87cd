#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cache/directory/outcome.h"
#include "cache/directory/secret.h"
#include "cache/format/address.h"

/// The bytes of a cache entry. Numbers are little-endian, nothing is padded.
///
///     entry    = body mac digest
///     body     = magic version:u32 total:u64 key:32 bytes variant:u64 count:u32 row*count contents*count
///     magic    = "AGENTRY\n"
///     total    = length of the whole entry
///     row      = name_length:u16 name length:u64 checksum:32 bytes      SHA-256 of the section's contents
///     contents = the bytes of one section, in the order of the rows
///     mac      = 32 bytes: HMAC-SHA-256 under the secret of "antegrad entry\n" and SHA-256(body), or zeros
///     digest   = 32 bytes: SHA-256(body mac)
///
/// magic and version keep their place in all future versions, so that each version can distinguish entries of
/// other versions from damaged ones. The address is part of the body, so an entry under another name is
/// detected. Any bytes are safe to read. A hit is, byte for byte, what write_entry() writes for the entry.
namespace antegrad::cache {

constexpr uint32_t kEntryVersion = 1;
constexpr uint64_t kMaxEntryBytes = uint64_t{256} << 20;
constexpr uint64_t kMaxSections = 64 << 10;
constexpr uint64_t kMaxSectionName = 255;

struct Section {
  std::string name;
  std::string bytes;

  friend bool operator==(const Section&, const Section&) = default;
};

/// Named byte strings in order. Their meaning is up to the code that stores them.
struct Entry {
  std::vector<Section> sections;

  /// Returns the bytes of a section, or null.
  const std::string* find(std::string_view name) const;
  friend bool operator==(const Entry&, const Entry&) = default;
};

/// Returns why the entry cannot be written (too large, too many sections, or section names that are empty,
/// too long or duplicate); empty when it can.
std::string entry_problem(const Entry& entry);

/// Without a secret (null), no MAC is written. Throws Error for an entry with a problem.
std::string write_entry(const Entry& entry, const Address& address, const Secret* secret);

struct ReadEntry {
  Outcome outcome = Outcome::Miss;  ///< Hit, Miss (another version), Corrupt or Refused
  Entry entry;                      ///< empty unless Hit
  std::string reason;               ///< empty for a hit
};

/// With a secret, an entry without its MAC is refused; without one, MACs are ignored. An entry that was
/// written for another address is refused or, without a secret, corrupt.
ReadEntry read_entry(std::string_view bytes, const Address& address, const Secret* secret);

}  // namespace antegrad::cache
