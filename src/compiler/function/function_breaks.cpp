// Calls of functions that cannot be captured as a whole, run in parts (capture/tape.h).
#include "compiler/function/function_impl.h"
#include "util/process_end.h"

namespace antegrad::detail {

/// Whether this thread runs a stretch. Stretches that cannot be captured run op by op.
static thread_local bool runs_stretch = false;

bool Function::Impl::may_run_in_parts() const {
  return stretches && !runs_stretch && !process_end::begun_here();
}

Outcome Function::Impl::run_in_parts(const Call& call) {
  const std::vector<at::Tensor> tensors(call.leaves.tensors.begin(), call.leaves.tensors.end());
  const trace::In in({trace_id, 0, ""});
  Outcome outcome;
  capture::Tape tape(
      [this](const capture::Stretch& stretch, const capture::DescribeBreak& why) {
        struct Running {
          Running() { runs_stretch = true; }
          ~Running() { runs_stretch = false; }
        } const running;
        return stretches->run(stretch, why);
      },
      tensors);
  tape.run([&] { outcome = call.run(tensors); });
  return outcome;
}

}  // namespace antegrad::detail
