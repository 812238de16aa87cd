#pragma once
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "schedule/program.h"
#include "trace/trace.h"
#include "util/fork_mutex.h"

namespace antegrad::runtime {

/// Times the steps of an executable in its first runs and reports the medians to the trace. Thread-safe.
class StepTimer {
 public:
  using Clock = std::chrono::steady_clock;

  /// Null when no trace is written, or enough executables are timed already.
  static std::unique_ptr<StepTimer> make(const schedule::Program& program);

  /// Returns whether there are runs left to time.
  bool wants() const { return runs_.load(std::memory_order_relaxed) < kRuns; }
  /// `times`: of each step of a run, in seconds.
  void add(const std::vector<float>& times);

 private:
  static constexpr int kRuns = 20;
  explicit StepTimer(const schedule::Program& program);
  void tell() const;

  const trace::Context context_ = trace::current();
  std::vector<std::string> names_;
  std::atomic<int> runs_{0};
  BriefMutex mutex_;
  std::vector<std::vector<float>> times_;  ///< per run
};

}  // namespace antegrad::runtime
