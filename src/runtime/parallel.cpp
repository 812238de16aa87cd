// The only file that is compiled with OpenMP: without it, at::parallel_for runs everything on the calling
// thread. The OpenMP runtime is LibTorch's own, so that there is one thread pool.
#include "runtime/parallel.h"

#include <ATen/Parallel.h>

#include "util/memory_room.h"
#include "util/process_end.h"

namespace antegrad::runtime {
namespace {

/// A thread's stack, and more than it needs at first. The OpenMP runtime ends the process when it cannot
/// create a thread.
constexpr size_t kRoomPerThread = size_t{32} << 20;

/// Returns whether there is memory for the threads, which stay once they are created.
bool has_threads() {
  static thread_local bool known = false;
  if (!known) known = has_room(static_cast<size_t>(at::get_num_threads()) * kRoomPerThread);
  return known;
}

}  // namespace

void use_one_thread_after_fork() {
  static thread_local int forks = process_end::forks();
  if (forks == process_end::forks()) return;
  forks = process_end::forks();
  at::set_num_threads(1);
}

void parallel_for(int64_t units, int64_t grain, c10::function_ref<void(int64_t begin, int64_t end)> task) {
  if (units <= grain || !has_threads())
    task(0, units);
  else
    at::parallel_for(0, units, grain, task);
}

}  // namespace antegrad::runtime
