#pragma once
#include <string>

#include "step_rates.h"
#include "step_work.h"
#include "training_step.h"

namespace antegrad::benchmarks {

// Each function must be the first in its process to use LibTorch: what one leaves behind (compiled kernels,
// retained memory, a counting allocator) must not affect another.

/// Returns the seconds that the first compiled step takes.
double measure_first_call(const std::string& name, Scale scale, StepKind kind);

/// Medians.
struct StepTimes {
  double compiled_ms = 0, eager_ms = 0;
  double compiled_faults = 0, eager_faults = 0;  ///< pages that the kernel had to provide
  Work work;                                     ///< of one step
  Limits::Rates rates;                           ///< sampled between the steps
};
enum class Allocator {
  Default,
  Keeping,  ///< the C library keeps freed memory, so that eager steps have few page faults
};
/// Runs compiled and eager steps in turns for about `seconds`, after a warm-up. The allocator stays so for
/// the rest of the process.
StepTimes measure_steps(const std::string& name, Scale scale, StepKind kind, double seconds,
                        Allocator allocator = Allocator::Default);

}  // namespace antegrad::benchmarks
