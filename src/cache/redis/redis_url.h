#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace antegrad::cache {

/// The address of a Redis server and the login.
struct RedisPlace {
  bool tls = false;
  std::string path;  ///< of a unix socket; empty when host and port are used
  std::string host;
  std::string port;
  std::string user;
  std::string password;
  unsigned database = 0;

  /// Returns a URL without user and password, for people.
  std::string to_text() const;
};

struct ParsedRedisUrl {
  std::optional<RedisPlace> place;
  std::string problem;  ///< does not repeat the URL, which may contain a password
};

/// Parses the forms listed at RedisSettings::url.
ParsedRedisUrl parse_redis_url(std::string_view url);

}  // namespace antegrad::cache
