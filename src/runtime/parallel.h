#pragma once
#include <c10/util/FunctionRef.h>

#include <cstdint>

namespace antegrad::runtime {

/// Runs `task` on ranges that make up 0 … units, on LibTorch's threads when there is more than `grain` to do
/// and memory for these threads.
void parallel_for(int64_t units, int64_t grain, c10::function_ref<void(int64_t begin, int64_t end)> task);

/// LibTorch's threads do not come along to a child of fork(), and its first parallel op would wait for them
/// for ever. The first call there makes its ops use the calling thread alone.
void leave_lost_threads();

}  // namespace antegrad::runtime
