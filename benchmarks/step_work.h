#pragma once
#include "workloads.h"

namespace antegrad::benchmarks {

/// What a step has to do at least.
struct Work {
  double flops = 0;  ///< of matrix products, convolutions, attention and recurrent layers
  double bytes = 0;  ///< parameters and inputs, read by both passes, and gradients; with an update, its state
};
/// Counts the ops of the captured graph, before any pass. `updates`: the step ends with an update by AdamW.
Work work_of_step(const Workload& workload, bool updates = false);

}  // namespace antegrad::benchmarks
