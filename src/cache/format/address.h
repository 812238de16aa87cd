#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cache/format/hash.h"

namespace antegrad::cache {

/// The location of an entry. One key may have many entries, distinguished by guards; `variant` is any number
/// that differs between them, such as the first bytes of a hash of the guards.
struct Address {
  Digest key;
  uint64_t variant = 0;

  /// The key's 64 digits, "-", the variant's 16 digits.
  std::string to_text() const;
  /// Accepts exactly what to_text() returns.
  static std::optional<Address> parse(std::string_view text);
  friend auto operator<=>(const Address&, const Address&) = default;
};

/// Returns the first eight bytes.
uint64_t variant_of(const Digest& digest);

}  // namespace antegrad::cache
