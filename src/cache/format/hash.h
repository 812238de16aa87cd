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

/// 32 bytes of SHA-256 or HMAC-SHA-256.
struct Digest {
  std::array<uint8_t, 32> bytes{};

  std::string hex() const;
  std::string_view view() const;
  bool is_zero() const;
  /// 64 digits, either case.
  static std::optional<Digest> from_hex(std::string_view text);
  friend auto operator<=>(const Digest&, const Digest&) = default;
};

/// SHA-256 of bytes that come in pieces.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  Sha256& update(std::string_view bytes);
  /// Of all bytes up to now; more may follow.
  Digest digest() const;

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

Digest sha256(std::string_view bytes);
Digest hmac_sha256(std::string_view key, std::string_view bytes);

/// Takes the same time wherever the two differ: for MACs, which a forger must not be able to find byte by
/// byte.
bool equal_in_constant_time(const Digest& a, const Digest& b);

/// Lower case, two digits a byte.
std::string to_hex(std::string_view bytes);

/// Bytes are std::string here; objects come as vectors.
inline std::string_view as_bytes(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace antegrad::cache
