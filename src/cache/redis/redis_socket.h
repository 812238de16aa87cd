#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "cache/redis/redis_url.h"

struct addrinfo;

namespace antegrad::cache {

struct RedisFailure {
  enum Kind { None, TimedOut, Closed, Other };
  Kind kind = None;
  std::string reason;

  explicit operator bool() const { return kind != None; }
};

/// A total time limit. Transferred bytes extend it in proportion, so that a large entry may take longer than
/// a small one but a server that sends a byte now and then gains nothing.
class RedisPatience {
 public:
  using Clock = std::chrono::steady_clock;

  explicit RedisPatience(std::chrono::milliseconds time) : time_(time), end_(Clock::now() + time) {}

  void moved(size_t bytes) { end_ += std::chrono::nanoseconds(50 * bytes); }
  /// Rounded up; 0 when the time is over.
  int milliseconds_left() const;
  RedisFailure timed_out(std::string_view what) const;

 private:
  std::chrono::milliseconds time_;
  Clock::time_point end_;
};

/// A socket that never blocks beyond the time limit and never raises SIGPIPE.
class RedisSocket {
 public:
  RedisSocket() = default;
  ~RedisSocket() { close(); }
  RedisSocket(const RedisSocket&) = delete;
  RedisSocket& operator=(const RedisSocket&) = delete;

  RedisFailure connect(const RedisPlace& place, RedisPatience& patience);
  RedisFailure send(std::string_view bytes, RedisPatience& patience);
  /// Receives at least one byte.
  RedisFailure receive(char* bytes, size_t room, size_t& got, RedisPatience& patience);
  bool is_open() const { return number_ >= 0; }
  /// Also safe in a child process while the parent uses the connection: sends nothing.
  void close();

 private:
  RedisFailure connect_unix(const RedisPlace& place, RedisPatience& patience);
  RedisFailure connect_network(const RedisPlace& place, RedisPatience& patience);
  RedisFailure connect_to(const addrinfo& address, RedisPatience& patience);
  RedisFailure wait(short events, std::string_view what, RedisPatience& patience);

  std::atomic<int> number_{-1};
};

}  // namespace antegrad::cache
