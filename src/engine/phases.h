#pragma once
#include <time.h>

#include <array>

#include "util/ids.h"

namespace antegrad::engine {

/// What a backward pass spends its time on.
enum class Phase {
  Engine,   ///< LibTorch's engine, before it hands the pass over and after it gets it back
  Order,    ///< putting the nodes in order
  Key,      ///< identifying the pass and what its nodes have saved
  Find,     ///< looking up compiled code and checking its guards
  Lift,     ///< making inputs of what was saved
  Release,  ///< releasing what nodes have saved
  Run,      ///< kernels
  Give,     ///< nodes that run by themselves, such as leaves
  Count
};

/// For benchmarks: while one lives on a thread, passes report the end of each phase. Costs one load where
/// there is none.
class PhaseClock {
 public:
  PhaseClock() : last_(now()) { current() = this; }
  ~PhaseClock() { current() = nullptr; }
  PhaseClock(const PhaseClock&) = delete;
  PhaseClock& operator=(const PhaseClock&) = delete;

  /// Attributes the time since the last mark to this phase.
  static void mark(Phase phase) {
    if (auto* clock = current()) clock->add(phase);
  }
  double microseconds(Phase phase) const { return spent_[ordinal(phase)]; }

 private:
  static PhaseClock*& current();
  /// CPU time of this thread, so that other load on the machine does not count.
  static double now() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) * 1e-3;
  }
  void add(Phase phase) {
    const auto time = now();
    spent_[ordinal(phase)] += time - last_;
    last_ = time;
  }

  double last_;
  std::array<double, ordinal(Phase::Count)> spent_{};
};

}  // namespace antegrad::engine
