#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "cache/redis/redis_socket.h"

struct ssl_st;

namespace antegrad::cache {

/// TLS over a socket. OpenSSL reads and writes memory only, so that the socket's time limits apply and it
/// cannot raise SIGPIPE.
class RedisTls {
 public:
  explicit RedisTls(RedisSocket& socket) : socket_(socket) {}

  /// The certificate must be valid for the host and signed by an authority in `ca_file` or, when that is
  /// empty, by one that the system trusts.
  RedisFailure open(const RedisPlace& place, const std::string& ca_file, RedisPatience& patience);
  RedisFailure send(std::string_view bytes, RedisPatience& patience);
  RedisFailure receive(char* bytes, size_t room, size_t& got, RedisPatience& patience);

 private:
  RedisFailure prepare(const RedisPlace& place, const std::string& ca_file);
  RedisFailure drive(const std::function<int()>& step, RedisPatience& patience);
  RedisFailure send_waiting(RedisPatience& patience);
  RedisFailure receive_more(RedisPatience& patience);

  struct Free {
    void operator()(ssl_st* session) const;
  };
  RedisSocket& socket_;
  std::unique_ptr<ssl_st, Free> session_;
};

}  // namespace antegrad::cache
