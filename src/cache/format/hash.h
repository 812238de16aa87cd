#pragma once
#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace antegrad::cache {

/// The 32 bytes of a SHA-256 or HMAC-SHA-256.
struct Digest {
  std::array<uint8_t, 32> bytes{};

  std::string hex() const;
  std::string_view view() const;
  bool is_zero() const;
  /// Accepts 64 digits in either case.
  static std::optional<Digest> from_hex(std::string_view text);
  friend auto operator<=>(const Digest&, const Digest&) = default;
};

/// Incremental SHA-256.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  Sha256& update(std::string_view bytes);
  /// Returns the digest of all bytes so far; more may follow.
  Digest digest() const;

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

Digest sha256(std::string_view bytes);
Digest hmac_sha256(std::string_view key, std::string_view bytes);

/// Compares in constant time, so that a MAC cannot be guessed byte by byte.
bool equal_in_constant_time(const Digest& a, const Digest& b);

/// Returns lower-case digits, two per byte.
std::string to_hex(std::string_view bytes);

/// Bytes are std::string in this folder; object files are vectors.
inline std::string_view as_bytes(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace antegrad::cache
