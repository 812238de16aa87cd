#include "cache/redis/redis_tls.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>

namespace antegrad::cache {
namespace {

constexpr size_t kRecord = 16 << 10;

struct FreeContext {
  void operator()(SSL_CTX* context) const { ::SSL_CTX_free(context); }
};

std::string last_error() {
  std::array<char, 256> text{};
  ::ERR_error_string_n(::ERR_get_error(), text.data(), text.size());
  ::ERR_clear_error();
  return text.data();
}

RedisFailure failed(const std::string& reason) { return {RedisFailure::Other, "TLS: " + reason}; }

/// Sets the name or numeric address that the certificate must be valid for.
bool expect_host(SSL* session, const std::string& host) {
  if (::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(session), host.c_str()) == 1) return true;
  ::ERR_clear_error();
  return ::SSL_set1_host(session, host.c_str()) == 1 &&
         ::SSL_set_tlsext_host_name(session, host.c_str()) == 1;
}

}  // namespace

void RedisTls::Free::operator()(ssl_st* session) const { ::SSL_free(session); }

RedisFailure RedisTls::prepare(const RedisPlace& place, const std::string& ca_file) {
  const std::unique_ptr<SSL_CTX, FreeContext> context(::SSL_CTX_new(::TLS_client_method()));
  if (!context) return failed(last_error());
  ::SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  ::SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  const int trusted = ca_file.empty()
                          ? ::SSL_CTX_set_default_verify_paths(context.get())
                          : ::SSL_CTX_load_verify_locations(context.get(), ca_file.c_str(), nullptr);
  if (trusted != 1) return failed(fmt::format("no certificates in {}: {}", ca_file, last_error()));
  session_.reset(::SSL_new(context.get()));
  if (!session_ || !expect_host(session_.get(), place.host)) return failed(last_error());
  BIO* in = ::BIO_new(::BIO_s_mem());
  BIO* out = ::BIO_new(::BIO_s_mem());
  if (!in || !out) {
    ::BIO_free(in);
    ::BIO_free(out);
    return failed("no memory");
  }
  ::SSL_set_bio(session_.get(), in, out);
  ::SSL_set_connect_state(session_.get());
  return {};
}

RedisFailure RedisTls::send_waiting(RedisPatience& patience) {
  std::array<char, kRecord> piece;
  for (;;) {
    const int size = ::BIO_read(::SSL_get_wbio(session_.get()), piece.data(), piece.size());
    if (size <= 0) return {};
    if (auto failure = socket_.send({piece.data(), static_cast<size_t>(size)}, patience)) return failure;
  }
}

RedisFailure RedisTls::receive_more(RedisPatience& patience) {
  std::array<char, kRecord> piece;
  size_t got = 0;
  if (auto failure = socket_.receive(piece.data(), piece.size(), got, patience)) return failure;
  ::BIO_write(::SSL_get_rbio(session_.get()), piece.data(), static_cast<int>(got));
  return {};
}

/// Repeats an OpenSSL operation and transfers the bytes that it produces or needs.
RedisFailure RedisTls::drive(const std::function<int()>& step, RedisPatience& patience) {
  for (;;) {
    ::ERR_clear_error();
    const int result = step();
    const int error = ::SSL_get_error(session_.get(), result);
    const auto reason = error == SSL_ERROR_SSL ? last_error() : std::string();
    if (auto failure = send_waiting(patience)) return failure;
    if (result > 0) return {};
    if (error == SSL_ERROR_ZERO_RETURN) return {RedisFailure::Closed, "the server closed the connection"};
    if (error != SSL_ERROR_WANT_READ) {
      const auto verified = ::SSL_get_verify_result(session_.get());
      if (verified != X509_V_OK) return failed(::X509_verify_cert_error_string(verified));
      return failed(reason.empty() ? "an unknown error" : reason);
    }
    if (auto failure = receive_more(patience)) return failure;
  }
}

RedisFailure RedisTls::open(const RedisPlace& place, const std::string& ca_file, RedisPatience& patience) {
  if (auto failure = prepare(place, ca_file)) return failure;
  return drive([&] { return ::SSL_do_handshake(session_.get()); }, patience);
}

RedisFailure RedisTls::send(std::string_view bytes, RedisPatience& patience) {
  while (!bytes.empty()) {
    const auto piece = bytes.substr(0, kRecord);
    const int size = static_cast<int>(piece.size());
    const auto step = [&] { return ::SSL_write(session_.get(), piece.data(), size); };
    if (auto failure = drive(step, patience)) return failure;
    bytes.remove_prefix(piece.size());
  }
  return {};
}

RedisFailure RedisTls::receive(char* bytes, size_t room, size_t& got, RedisPatience& patience) {
  const auto step = [&] {
    const int size = ::SSL_read(session_.get(), bytes, static_cast<int>(std::min<size_t>(room, kRecord)));
    got = size > 0 ? static_cast<size_t>(size) : 0;
    return size;
  };
  return drive(step, patience);
}

}  // namespace antegrad::cache
