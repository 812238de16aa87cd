#pragma once
#include <chrono>
#include <cstddef>
#include <string>

namespace antegrad::cli {

/// A progress bar on standard error for work that takes longer than a second. Shows nothing when standard
/// error is not a terminal. Erased by the destructor.
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
  Clock::time_point next_;  ///< the earliest time to draw again
  bool drawn_ = false;
};

/// "verify [#####.....] 50% 5/10".
std::string progress_line(const std::string& what, size_t done, size_t all);

}  // namespace antegrad::cli
