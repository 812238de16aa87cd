#pragma once
#include "schedule/program.h"

namespace antegrad::schedule {

/// Joins kernels that run one after the other on a CUDA device, each so small that one block computes it in
/// less time than starting it takes: the steps become one, whose kernel has them as parts. Does not join
/// kernels over symbols, whose sizes are not known, nor kernels that check indices.
void join_small_kernels(Program& program);

}  // namespace antegrad::schedule
