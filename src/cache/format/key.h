#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/format/hash.h"

namespace antegrad::cache {

/// One input that the result of compiling depends on.
struct KeyField {
  std::string name;
  uint64_t length = 0;              ///< of its bytes
  Digest hash;                      ///< of its bytes
  std::optional<std::string> text;  ///< the bytes themselves, if they are text and still available

  friend bool operator==(const KeyField&, const KeyField&) = default;
};

/// A cache key: named fields in order. The digest covers names, lengths and hashes of all fields, so it does
/// not depend on whether texts are kept, and field boundaries are unambiguous.
///
///     stored  = "AGKEY1\n\0" count:u32 field*count
///     field   = name_length:u16 name length:u64 hash:32 bytes text
///     text    = 0:u16                      not kept
///             | 1:u16 size:u32 bytes       kept, size = length
///
/// Numbers are little-endian. The digest is SHA-256 of the stored form without `text`.
class Key {
 public:
  static constexpr size_t kMaxStoredText = 4096;
  static constexpr size_t kMaxFields = 4096;
  static constexpr size_t kMaxName = 255;

  /// Names must be printable, without spaces, and unique; throws Error otherwise. Only text is kept in
  /// memory.
  Key& add_text(std::string_view name, std::string text);
  Key& add_bytes(std::string_view name, std::string_view bytes);
  /// Adds bytes that were hashed incrementally.
  Key& add_hash(std::string_view name, const Digest& hash, uint64_t length);

  const std::vector<KeyField>& fields() const { return fields_; }
  const KeyField* find(std::string_view name) const;
  Digest digest() const;

  /// Returns one line per field: name, hash, length.
  std::string to_text() const;

  /// Returns the stored form; texts longer than kMaxStoredText are omitted.
  std::string store() const;
  /// Returns nothing when the bytes are not a stored key, or a text does not match the hash of its field.
  static std::optional<Key> load(std::string_view bytes);

  friend bool operator==(const Key&, const Key&) = default;

 private:
  void add(KeyField field);

  std::vector<KeyField> fields_;
};

struct FieldDifference {
  std::string name;
  std::string text;  ///< what differs, in lines that each end with a line break

  friend bool operator==(const FieldDifference&, const FieldDifference&) = default;
};

/// Returns what differs; empty exactly when the digests are equal. Texts known on both sides are compared
/// line by line. Fields in a different order are reported as a difference of "(order)".
std::vector<FieldDifference> difference(const Key& before, const Key& after);

/// Prints names as headings with the differences indented below.
std::string to_text(const std::vector<FieldDifference>& differences);

/// Returns the number of equal fields, for finding the nearest of several keys.
size_t equal_fields(const Key& a, const Key& b);

}  // namespace antegrad::cache
