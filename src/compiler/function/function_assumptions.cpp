// Calls of versions that assume answers about data (capture/assumption.h), and what happens when one is
// wrong.
#include <c10/util/Exception.h>

#include "capture/assumption.h"
#include "compiler/function/function_impl.h"
#include "runtime/rng_state.h"
#include "util/process_end.h"
#include "util/reasons.h"

namespace antegrad::detail {

constexpr int kMostBroken = 4;  // one after another: calls like these run eagerly from then on

std::optional<std::vector<at::Tensor>> Function::Impl::call_on_assumptions(const Call& call,
                                                                           const Match& match) {
  at::Tensor generator;
  if (match.instance->may_draw && !process_end::destroys_statics()) generator = runtime::generator_state();
  try {
    auto outputs = match.instance->caller->call(match.inputs);
    match.instance->broken.store(0, std::memory_order_relaxed);
    return outputs;
  } catch (const c10::Error& error) {
    // A function that has kept tensors has run already.
    if (match.once || !capture::is_broken_assumption(error)) throw;
    if (generator.defined()) runtime::set_generator_state(generator);
    note_broken_assumption(call, match, error.what_without_backtrace());
    return std::nullopt;
  }
}

void Function::Impl::note_broken_assumption(const Call& call, const Match& match, const std::string& reason) {
  {
    std::unique_lock lock(versions_mutex);
    ++report.eager_calls;
    append_unique(report.eager_reasons, reason);
  }
  if (++match.instance->broken < kMostBroken) {
    trace::warn("eager", reason);
    return;
  }
  const std::scoped_lock capturing(capture_mutex);
  match.instance->broken = 0;
  add(std::make_shared<Version>(compiler::guards_of_attempt(options, call, {})),
      "an assumption about data was wrong several times", reason);
}

}  // namespace antegrad::detail
