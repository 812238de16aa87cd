// The one file that is compiled with OpenMP: without, at::parallel_for runs everything on the calling thread.
// The OpenMP runtime is the one that LibTorch brings, so that there is one pool of threads.
#include "runtime/parallel.h"

#include <ATen/Parallel.h>

namespace antegrad::runtime {

void parallel_for(int64_t units, int64_t grain, c10::function_ref<void(int64_t begin, int64_t end)> task) {
  if (units <= grain)
    task(0, units);
  else
    at::parallel_for(0, units, grain, task);
}

}  // namespace antegrad::runtime
