// Calls of functions that cannot be captured as a whole, run in parts (capture/tape.h).
#include <algorithm>

#include "compiler/function/function_impl.h"
#include "util/process_end.h"

namespace antegrad::detail {

/// Whether this thread runs a stretch. Stretches that cannot be captured run op by op.
static thread_local bool runs_stretch = false;

bool Function::Impl::may_run_in_parts() const {
  return stretches && !runs_stretch && !process_end::begun_here();
}

bool Function::Impl::needs_trial() const {
  if (!may_run_in_parts() || unbroken.load(std::memory_order_relaxed)) return false;
  std::shared_lock lock(versions_mutex);
  return std::ranges::all_of(versions, [](const auto& version) { return version->is_eager(); });
}

namespace {

/// Runs the function of a call under a tape.
Outcome run_under_tape(const Call& call, const capture::RunStretch& run) {
  const std::vector<at::Tensor> tensors(call.leaves.tensors.begin(), call.leaves.tensors.end());
  Outcome outcome;
  capture::Tape tape(
      [&](const capture::Stretch& stretch, const capture::DescribeBreak& why) {
        struct Running {
          Running() { runs_stretch = true; }
          ~Running() { runs_stretch = false; }
        } const running;
        return run(stretch, why);
      },
      tensors);
  tape.run([&] { outcome = call.run(tensors); });
  return outcome;
}

}  // namespace

Outcome Function::Impl::run_in_parts(const Call& call) {
  const trace::In in({trace_id, 0, ""});
  return run_under_tape(call, [this](const capture::Stretch& stretch, const capture::DescribeBreak& why) {
    return stretches->run(stretch, why);
  });
}

/// Without a break, the only stretch is the whole function, which the next call captures: no code is made.
Outcome Function::Impl::try_in_parts(const Call& call) {
  const trace::In in({trace_id, 0, ""});
  std::unique_lock capturing(capture_mutex);
  const auto version = uncompiled_version(call, {});  // now: the call may change its arguments
  auto reason = recapture_reason(call);
  capturing.unlock();
  bool broken = false;
  auto outcome =
      run_under_tape(call, [&](const capture::Stretch& stretch, const capture::DescribeBreak& why) {
        broken |= static_cast<bool>(why);
        return broken ? stretches->run(stretch, why) : stretches->replay(stretch);
      });
  unbroken = !broken;
  {
    const std::unique_lock lock(versions_mutex);
    ++(broken ? report.broken_calls : report.waiting_calls);
  }
  if (!broken) return outcome;
  capturing.lock();
  if (find(call) || !make_room(reason)) return outcome;
  ++eager_versions;
  add(version, reason, stretches->first_break());
  return outcome;
}

}  // namespace antegrad::detail
