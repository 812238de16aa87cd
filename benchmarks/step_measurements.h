#pragma once
#include <string>

#include "workloads.h"

namespace antegrad::benchmarks {

// Each of these is the first thing that its process does with LibTorch: what one leaves behind (kernels that
// are compiled, memory that is kept, an allocator that counts) must not reach another.

/// Seconds that the first step of a compiled function takes, nothing cached, forward and backward.
double measure_first_call(const std::string& name, Scale scale);

struct StepTimes {
  double compiled_ms = 0, eager_ms = 0;  ///< medians
};
/// Steps compiled and eager in turns for about so long, after some to warm up.
StepTimes measure_steps(const std::string& name, Scale scale, double seconds);

}  // namespace antegrad::benchmarks
