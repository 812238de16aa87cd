#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace antegrad::cache {

/// Where a Redis server is, and how to log in.
struct RedisPlace {
  bool tls = false;
  std::string path;  ///< of a unix socket; empty: host and port
  std::string host;
  std::string port;
  std::string user;
  std::string password;
  unsigned database = 0;

  /// For people: a URL without user and password.
  std::string to_text() const;
};

struct ParsedRedisUrl {
  std::optional<RedisPlace> place;
  std::string problem;  ///< does not repeat the URL, which may have a password in it
};

/// The forms are those of RedisSettings::url.
ParsedRedisUrl parse_redis_url(std::string_view url);

}  // namespace antegrad::cache
