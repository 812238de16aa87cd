#pragma once
#include <time.h>

#include <array>

#include "util/ids.h"

namespace antegrad::engine {

/// What the time of a backward pass goes to.
enum class Phase {
  Engine,   ///< LibTorch's, before it hands the pass over and after it has got it back
  Order,    ///< putting the nodes in order
  Key,      ///< what identifies the pass, and what its nodes have saved
  Find,     ///< looking for what was compiled, and its guards
  Lift,     ///< making saved things inputs
  Release,  ///< letting go of what nodes have saved
  Run,      ///< kernels
  Give,     ///< nodes that run by themselves: leaves
  Count
};

/// For benchmarks: while one lives on a thread, passes say when a phase ends. Costs a load where there is
/// none.
class PhaseClock {
 public:
  PhaseClock() : last_(now()) { current() = this; }
  ~PhaseClock() { current() = nullptr; }
  PhaseClock(const PhaseClock&) = delete;
  PhaseClock& operator=(const PhaseClock&) = delete;

  /// The time since the last mark was for this.
  static void mark(Phase phase) {
    if (auto* clock = current()) clock->add(phase);
  }
  double microseconds(Phase phase) const { return spent_[ordinal(phase)]; }

 private:
  static PhaseClock*& current();
  /// Of this thread on a processor, so that others on the machine do not count.
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
