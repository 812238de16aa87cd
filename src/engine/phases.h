#pragma once
#include <array>
#include <chrono>

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

/// For benchmarks: while one is installed on a thread, passes say when a phase ends. Costs a load where none
/// is.
class PhaseClock {
 public:
  PhaseClock() : last_(Clock::now()) { current() = this; }
  ~PhaseClock() { current() = nullptr; }
  PhaseClock(const PhaseClock&) = delete;
  PhaseClock& operator=(const PhaseClock&) = delete;

  /// The time since the last mark was for this.
  static void mark(Phase phase) {
    if (auto* clock = current()) clock->add(phase);
  }
  double microseconds(Phase phase) const { return spent_[static_cast<size_t>(phase)]; }

 private:
  using Clock = std::chrono::steady_clock;
  static PhaseClock*& current();
  void add(Phase phase) {
    const auto now = Clock::now();
    spent_[static_cast<size_t>(phase)] += std::chrono::duration<double, std::micro>(now - last_).count();
    last_ = now;
  }

  Clock::time_point last_;
  std::array<double, static_cast<size_t>(Phase::Count)> spent_{};
};

}  // namespace antegrad::engine
