#include "cache/format/address.h"

#include <fmt/format.h>

#include <charconv>

#include "cache/format/wire.h"

namespace antegrad::cache {

std::string Address::to_text() const { return fmt::format("{}-{:016x}", key.hex(), variant); }

std::optional<Address> Address::parse(std::string_view text) {
  const auto key = Digest::from_hex(text.substr(0, 64));
  if (!key || text.size() != 64 + 1 + 16) return std::nullopt;
  Address address{*key, 0};
  const char* end = text.data() + text.size();
  if (std::from_chars(end - 16, end, address.variant, 16).ptr != end) return std::nullopt;
  // Only the canonical spelling: no capitals, no other separator.
  if (address.to_text() != text) return std::nullopt;
  return address;
}

uint64_t variant_of(const Digest& digest) { return ByteReader(digest.view()).u64(); }

}  // namespace antegrad::cache
