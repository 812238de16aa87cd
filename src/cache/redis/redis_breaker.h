#pragma once
#include <algorithm>
#include <chrono>
#include <mutex>
#include <string>
#include <utility>

#include "util/fork_mutex.h"

namespace antegrad::cache {

/// A circuit breaker: keeps callers away from a server that failed, for a pause that doubles with each
/// failure. Thread-safe.
class RedisBreaker {
 public:
  using Clock = std::chrono::steady_clock;

  struct Pass {
    std::string reason;  ///< why the server must not be queried; empty when it may be
    unsigned failures = 0;
  };

  RedisBreaker(std::chrono::milliseconds first, std::chrono::milliseconds longest)
      : first_(first), longest_(longest) {}

  /// After a pause one caller is let through; the others are kept away until it has a result.
  Pass enter(Clock::time_point now = Clock::now()) {
    const std::lock_guard lock(mutex_);
    if (pause_.count() > 0) {
      if (now < until_) return {reason_, failures_};
      until_ = now + pause_;
    }
    return {{}, failures_};
  }

  /// Returns what failed while the holder of a pass waited for its turn; empty when nothing did.
  std::string failed_since(const Pass& pass) {
    const std::lock_guard lock(mutex_);
    return failures_ == pass.failures ? std::string() : reason_;
  }

  void worked() {
    const std::lock_guard lock(mutex_);
    pause_ = {};
    reason_.clear();
  }

  void failed(std::string reason, Clock::time_point now = Clock::now()) {
    const std::lock_guard lock(mutex_);
    ++failures_;
    reason_ = std::move(reason);
    pause_ = std::clamp(2 * pause_, std::min(first_, longest_), longest_);
    until_ = now + pause_;
  }

 private:
  const std::chrono::milliseconds first_, longest_;
  BriefMutex mutex_;
  std::chrono::milliseconds pause_{0};  ///< 0 when the server works
  Clock::time_point until_;
  std::string reason_;
  unsigned failures_ = 0;
};

}  // namespace antegrad::cache
