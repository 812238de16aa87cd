#include "cache/redis/redis_url.h"

#include <fmt/format.h>

#include <charconv>

namespace antegrad::cache {
namespace {

constexpr unsigned kMostDatabases = 1 << 20;
constexpr size_t kLongestPath = 107;  // the capacity of a unix socket address

std::optional<unsigned> number(std::string_view text, unsigned most) {
  unsigned out = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, out);
  if (text.empty() || error != std::errc() || stop != end || out > most) return std::nullopt;
  return out;
}

/// Decodes %XX.
std::optional<std::string> decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    unsigned char byte = 0;
    const auto digits = text.substr(i + 1, 2);
    const auto* end = digits.data() + digits.size();
    if (digits.size() != 2 || std::from_chars(digits.data(), end, byte, 16).ptr != end || byte == 0) {
      return std::nullopt;
    }
    out += static_cast<char>(byte);
    i += 2;
  }
  return out;
}

/// Removes "[user]:password@" from the front. The last "@" counts, so that passwords may contain some.
std::string take_login(std::string_view& authority, RedisPlace& place) {
  const auto at = authority.rfind('@');
  if (at == std::string_view::npos) return {};
  const auto login = authority.substr(0, at);
  authority.remove_prefix(at + 1);
  const auto colon = login.find(':');
  if (colon == std::string_view::npos) return "has a user without a password";
  const auto user = decoded(login.substr(0, colon)), password = decoded(login.substr(colon + 1));
  if (!user || !password) return "has a % without two digits in its user or password";
  place.user = *user;
  place.password = *password;
  return {};
}

std::string take_host(std::string_view authority, RedisPlace& place) {
  std::string_view host = authority, port = "6379";
  if (authority.starts_with('[')) {
    const auto end = authority.find(']');
    if (end == std::string_view::npos) return "has a [ without a ]";
    host = authority.substr(1, end - 1);
    authority.remove_prefix(end + 1);
    if (!authority.empty() && authority[0] != ':') return "has something between ] and its port";
    if (!authority.empty()) port = authority.substr(1);
  } else if (const auto colon = authority.find(':'); colon != std::string_view::npos) {
    host = authority.substr(0, colon);
    port = authority.substr(colon + 1);
  }
  if (host.empty()) return "has no host";
  if (number(port, 65535).value_or(0) == 0) return "has a port that is no number from 1 to 65535";
  place.host = host;
  place.port = port;
  return {};
}

std::string take_database(std::string_view text, RedisPlace& place) {
  const auto database = number(text, kMostDatabases);
  if (!database) return "has a database that is no number";
  place.database = *database;
  return {};
}

std::string parse_unix(std::string_view rest, RedisPlace& place) {
  if (const auto query = rest.rfind("?db="); query != std::string_view::npos) {
    if (auto problem = take_database(rest.substr(query + 4), place); !problem.empty()) return problem;
    rest = rest.substr(0, query);
  }
  if (!rest.starts_with('/')) {
    const auto end = rest.find("@/");
    if (end == std::string_view::npos) return "has no absolute path of a socket";
    auto login = rest.substr(0, end + 1);
    rest.remove_prefix(end + 1);
    if (auto problem = take_login(login, place); !problem.empty()) return problem;
  }
  const auto path = decoded(rest);
  if (!path || path->size() > kLongestPath) {
    return fmt::format("has a path that is no path of at most {} bytes", kLongestPath);
  }
  place.path = *path;
  return {};
}

std::string parse_network(std::string_view rest, RedisPlace& place) {
  // The login may contain slashes; the rest has at most one.
  const auto at = rest.rfind('@');
  const auto slash = rest.find('/', at == std::string_view::npos ? 0 : at);
  auto authority = rest.substr(0, slash);
  if (slash != std::string_view::npos && slash + 1 < rest.size()) {
    if (auto problem = take_database(rest.substr(slash + 1), place); !problem.empty()) return problem;
  }
  if (auto problem = take_login(authority, place); !problem.empty()) return problem;
  return take_host(authority, place);
}

}  // namespace

std::string RedisPlace::to_text() const {
  if (!path.empty()) return fmt::format("unix://{}{}", path, database ? fmt::format("?db={}", database) : "");
  const bool brackets = host.find(':') != std::string::npos;
  return fmt::format("{}://{}:{}{}", tls ? "rediss" : "redis", brackets ? "[" + host + "]" : host, port,
                     database ? fmt::format("/{}", database) : "");
}

ParsedRedisUrl parse_redis_url(std::string_view url) {
  RedisPlace place;
  std::string problem;
  const auto begins = [&](std::string_view scheme) { return url.starts_with(scheme); };
  if (begins("unix://")) {
    problem = parse_unix(url.substr(7), place);
  } else if (begins("redis://")) {
    problem = parse_network(url.substr(8), place);
  } else if (begins("rediss://")) {
    place.tls = true;
    problem = parse_network(url.substr(9), place);
  } else {
    problem = "does not begin with redis://, rediss:// or unix://";
  }
  if (!problem.empty()) return {std::nullopt, "its URL " + problem};
  return {std::move(place), {}};
}

}  // namespace antegrad::cache
