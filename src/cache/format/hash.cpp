#include "cache/format/hash.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <cstring>

#include "antegrad/error.h"

namespace antegrad::cache {
namespace {

void check(bool fine, std::string_view call) {
  if (!fine) {
    throw Error(ErrorCode::Internal, "cache", "OpenSSL's " + std::string(call) + " failed",
                "Check the installation of OpenSSL 3 (libcrypto)");
  }
}

/// A library context of our own, isolated from what the host program configures or loads in OpenSSL's global
/// one. Never freed: threads may still hash while the process exits.
OSSL_LIB_CTX* library() {
  static OSSL_LIB_CTX* const context = OSSL_LIB_CTX_new();
  return context;
}

const EVP_MD* algorithm() {
  static EVP_MD* const fetched = EVP_MD_fetch(library(), "SHA256", nullptr);
  check(fetched != nullptr, "EVP_MD_fetch");
  return fetched;
}

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string to_hex(std::string_view bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(2 * bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<uint8_t>(c);
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

std::string Digest::hex() const { return to_hex(view()); }

std::string_view Digest::view() const { return as_bytes(bytes); }

bool Digest::is_zero() const { return *this == Digest{}; }

std::optional<Digest> Digest::from_hex(std::string_view text) {
  Digest digest;
  if (text.size() != 2 * digest.bytes.size()) return std::nullopt;
  for (size_t i = 0; i < digest.bytes.size(); ++i) {
    const int high = digit_value(text[2 * i]), low = digit_value(text[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    digest.bytes[i] = static_cast<uint8_t>(16 * high + low);
  }
  return digest;
}

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  check(context_ && EVP_DigestInit_ex2(context_.get(), algorithm(), nullptr) == 1, "EVP_DigestInit_ex2");
}

Sha256::~Sha256() = default;

void Sha256::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

Sha256& Sha256::update(std::string_view bytes) {
  check(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1, "EVP_DigestUpdate");
  return *this;
}

Digest Sha256::digest() const {
  // Finalising makes a context unusable, so a copy is finalised.
  const std::unique_ptr<EVP_MD_CTX, Free> copy(EVP_MD_CTX_new());
  Digest digest;
  check(copy && EVP_MD_CTX_copy_ex(copy.get(), context_.get()) == 1, "EVP_MD_CTX_copy_ex");
  check(EVP_DigestFinal_ex(copy.get(), digest.bytes.data(), nullptr) == 1, "EVP_DigestFinal_ex");
  return digest;
}

Digest sha256(std::string_view bytes) { return Sha256().update(bytes).digest(); }

Digest hmac_sha256(std::string_view key, std::string_view bytes) {
  Digest digest;
  size_t length = 0;
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  const auto* made = EVP_Q_mac(library(), "HMAC", nullptr, "SHA256", nullptr, key.data(), key.size(), data,
                               bytes.size(), digest.bytes.data(), digest.bytes.size(), &length);
  check(made != nullptr && length == digest.bytes.size(), "EVP_Q_mac");
  return digest;
}

bool equal_in_constant_time(const Digest& a, const Digest& b) {
  return CRYPTO_memcmp(a.bytes.data(), b.bytes.data(), a.bytes.size()) == 0;
}

}  // namespace antegrad::cache
