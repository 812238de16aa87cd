#pragma once
#include <c10/util/FunctionRef.h>

#include <cstdint>

namespace antegrad::runtime {

/// Runs `task` on ranges that make up 0 … units: on LibTorch's threads when there are more than `grain` units
/// and memory for these threads, else on the calling thread.
void parallel_for(int64_t units, int64_t grain, c10::function_ref<void(int64_t begin, int64_t end)> task);

/// LibTorch's threads do not exist in a child of fork(), and its first parallel op would wait for them
/// forever. The first call in a child makes LibTorch's ops use the calling thread only.
void use_one_thread_after_fork();

}  // namespace antegrad::runtime
