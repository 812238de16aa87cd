#pragma once
#include <chrono>
#include <cstddef>
#include <string>

namespace antegrad::cli {

/// A bar on standard error for work that takes longer than a second, where people look at it: nothing when
/// standard error is not a terminal. Goes away with the object.
class ProgressBar {
 public:
  explicit ProgressBar(std::string what);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void operator()(size_t done, size_t all);

 private:
  using Clock = std::chrono::steady_clock;

  const std::string what_;
  const bool terminal_;
  Clock::time_point next_;  ///< when to draw again
  bool drawn_ = false;
};

/// "verify [#####.....] 50% 5/10".
std::string progress_line(const std::string& what, size_t done, size_t all);

}  // namespace antegrad::cli
