#pragma once
#include <algorithm>
#include <chrono>
#include <mutex>
#include <string>
#include <utility>

#include "util/fork_mutex.h"

namespace antegrad::cache {

/// Keeps callers away from a server that failed, for a pause that doubles with each failure. Many threads may
/// ask.
class RedisBreaker {
 public:
  using Clock = std::chrono::steady_clock;

  struct Pass {
    std::string reason;  ///< why the server is not to be asked; empty: go on
    unsigned failures = 0;
  };

  RedisBreaker(std::chrono::milliseconds first, std::chrono::milliseconds longest)
      : first_(first), longest_(longest) {}

  /// After a pause one caller is let through; the others are kept away until it knows more.
  Pass enter(Clock::time_point now = Clock::now()) {
    const std::lock_guard lock(mutex_);
    if (pause_.count() > 0) {
      if (now < until_) return {reason_, failures_};
      until_ = now + pause_;
    }
    return {{}, failures_};
  }

  /// What failed while the holder of a pass waited for its turn; empty: nothing.
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
  std::chrono::milliseconds pause_{0};  ///< 0: all is well
  Clock::time_point until_;
  std::string reason_;
  unsigned failures_ = 0;
};

}  // namespace antegrad::cache
