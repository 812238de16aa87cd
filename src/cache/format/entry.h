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
/// magic and version stay where they are in every version to come, so that each version can tell the others'
/// entries from damaged ones. The address is part of the body: an entry under another name is found out.
/// Any bytes are safe to read. What reads as a hit is, byte for byte, what write_entry() makes of it.
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

/// Named byte strings in order. What is in them is the business of whoever stores them.
struct Entry {
  std::vector<Section> sections;

  /// The bytes of a section, or null.
  const std::string* find(std::string_view name) const;
  friend bool operator==(const Entry&, const Entry&) = default;
};

/// Why the entry cannot be written: too large, too many sections, names that are empty, too long or there
/// twice. Empty when it can.
std::string entry_problem(const Entry& entry);

/// `secret` may be null: no MAC then. Throws Error for an entry with a problem.
std::string write_entry(const Entry& entry, const Address& address, const Secret* secret);

struct ReadEntry {
  Outcome outcome = Outcome::Miss;  ///< Hit, Miss (another version), Corrupt or Refused
  Entry entry;                      ///< empty unless Hit
  std::string reason;               ///< empty when Hit
};

/// With a secret, an entry without its MAC is refused; without one, MACs are not looked at. An entry that
/// was written for another address is refused or, without a secret, corrupt.
ReadEntry read_entry(std::string_view bytes, const Address& address, const Secret* secret);

}  // namespace antegrad::cache
