// Functions that keep some of their tensors: caches filled on first use, and state.
#include <fmt/format.h>

#include "antegrad/error.h"
#include "compiler/code/kept.h"
#include "compiler/function/function_impl.h"

namespace antegrad::detail {
namespace {

/// Options for code that serves a single call: LibTorch runs every op.
Options once(Options options) {
  options.backend = Backend::Eager;
  options.cache = Cache::Off;
  options.rng = Rng::Eager;  // the kept tensors were computed with these random numbers
  options.dynamic = Dynamic::None;
  options.dynamic_sizes.clear();
  options.backward_ahead = false;
  options.check_recapture = false;
  options.debug_compare = false;
  return options;
}

}  // namespace

std::optional<Match> Function::Impl::serve_once(const Call& call, Recorded& recorded) {
  std::optional<Match> match;
  try {
    const auto own = once(options);
    compiler::Driver own_driver({own, effects, std::make_shared<const compiler::Lowering>(own)});
    own_driver.generalize(call, versions, recorded);
    const auto version = own_driver.compile(call, recorded);
    match = compiler::match_new_version(version, call);
    if (!match)
      throw Error(ErrorCode::Internal, "compile",
                  "a captured graph does not serve the call it was captured for: " +
                      version->mismatches(call).front());
    match->once = true;
    match->kept_outputs = recorded.captured->trace.kept_outputs;
  } catch (const Error& error) {
    recorded.eager_reason = eager_reason_of(error);
    return std::nullopt;
  }
  if (!recorded.kept_elsewhere) count_kept(call, recorded);  // else the capture at other sizes caused it
  return match;
}

/// Counts calls that keep tensors. After the second call like this one, or after too many, such calls are
/// refused or run eagerly without capture.
void Function::Impl::count_kept(const Call& call, const Recorded& recorded) {
  const bool again = ++kept_calls > std::max(1, options.max_versions) ||
                     (kept_before != nullptr && compiler::match({&kept_before, 1}, call));
  kept_reason =
      fmt::format("the function stored {} of its tensors in an earlier call", recorded.captured->trace.kept);
  std::exception_ptr refusal;
  std::string text;
  try {
    compiler::throw_keeps_tensors(options.name);
  } catch (const Error& error) {
    refusal = std::current_exception();
    text = error.what();
  }
  const bool eager = may_run_uncompiled();
  auto guards = compiler::guards_of_call(options, call);
  for (auto& guard : guards.arguments) guard.ignore_grad();
  auto stand_in = std::make_shared<Version>(std::move(guards), eager ? nullptr : refusal);
  if (again)
    add(std::move(stand_in), std::exchange(kept_reason, ""), eager ? text : "");
  else
    kept_before = std::move(stand_in);
}

}  // namespace antegrad::detail
