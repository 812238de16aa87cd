// The path of a call: a version that serves it is found or made, and run.
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/function.h>

#include "antegrad/error.h"
#include "capture/kept.h"
#include "capture/mode.h"
#include "compiler/api/environment.h"
#include "compiler/code/tracing.h"
#include "compiler/function/background_worker.h"
#include "compiler/function/function_impl.h"
#include "passes/pipeline.h"
#include "runtime/parallel.h"
#include "util/process_end.h"

namespace antegrad::detail {
namespace {

constexpr int kMostEagerTries = 4;

/// What may take results of this call early.
runtime::EarlyResults* taker_of(const std::shared_ptr<runtime::EarlyResults>& early, const Match& match) {
  return match.kept_outputs.empty() ? early.get() : nullptr;
}

/// Makes outputs share memory with tensors that the function kept, and sets the grad mode that it leaves
/// behind.
Outcome finish(const Match& match, std::vector<at::Tensor> outputs) {
  capture::share(match.kept_outputs, outputs);
  if (c10::GradMode::is_enabled() != match.instance->grad_mode_after)
    c10::GradMode::set_enabled(match.instance->grad_mode_after);
  return {std::move(outputs), match.instance->pattern, false};
}

}  // namespace

Function::Function(Options options, bool effects) : impl_(std::make_unique<Impl>()) {
  impl_->effects = effects;
  impl_->options = compiler::with_environment(std::move(options));
  if (impl_->options.compile == Compile::Background) impl_->options.backward_ahead = true;
  for (const auto& name : impl_->options.disabled_passes) passes::find_pass(name);
  impl_->lowering = std::make_shared<const compiler::Lowering>(impl_->options);
  impl_->driver.emplace(impl_->settings());
  const auto& given = impl_->options;
  if (given.unsupported == Unsupported::Break) impl_->stretches.emplace(given);
  if (!given.compile_all_sizes && !given.gradients && !impl_->stretches)
    impl_->new_sizes.emplace(given.max_sizes);
  const trace::In in({impl_->trace_id, 0, ""});
  compiler::trace_function(impl_->options);
}

Function::~Function() {
  if (impl_->options.compile == Compile::Background)
    compiler::BackgroundWorker::instance().forget(impl_.get());
}

Outcome Function::call(const Leaves& leaves, const RunOnTensors& run, const KeepRun& keep) {
  const Call call{leaves, run, keep};
  const auto [match, in_parts, is_trial] = impl_->serve(call);
  if (in_parts) return is_trial ? impl_->try_in_parts(call) : impl_->run_in_parts(call);
  if (!match) return {{}, nullptr, true};
  if (!match->instance->has_assumptions)
    return finish(*match, match->instance->caller->call(match->inputs, taker_of(impl_->early, *match)));
  auto outputs = impl_->call_on_assumptions(call, *match);
  return outputs ? finish(*match, *std::move(outputs)) : Outcome{{}, nullptr, true};
}

Outcome Function::consume(Leaves&& leaves, const RunOnTensors& run, const KeepRun& keep,
                          c10::function_ref<void()> let_go) {
  const Call given{leaves, run, keep};
  auto [match, in_parts, is_trial] = impl_->serve(given, /*may_try=*/false);
  if (in_parts) return impl_->run_in_parts(given);
  if (!match) return {{}, nullptr, true};
  if (match->instance->has_assumptions) {  // the arguments may be needed again
    auto outputs = impl_->call_on_assumptions(given, *match);
    if (!outputs) return {{}, nullptr, true};
    leaves = {};
    let_go();
    return finish(*match, *std::move(outputs));
  }
  leaves = {};
  let_go();
  std::vector<at::Tensor> inputs(std::make_move_iterator(match->inputs.begin()),
                                 std::make_move_iterator(match->inputs.end()));
  match->inputs.clear();
  auto* const early = taker_of(impl_->early, *match);
  return finish(*match, match->instance->caller->consume(std::move(inputs), early));
}

void Function::hand_results_to(std::shared_ptr<runtime::EarlyResults> early) {
  impl_->early = std::move(early);
}

Function::Impl::Served Function::Impl::serve(const Call& call, bool may_try) {
  runtime::use_one_thread_after_fork();
  const auto number = calls.fetch_add(1, std::memory_order_relaxed) + 1;
  auto match = find(call);
  const bool known = match.has_value();
  const bool is_trial = !known && may_try && needs_trial();
  const bool compiles = !known && !is_trial && !passes_by(call, number);
  const bool waits = compiles && options.compile == Compile::Background;
  try {
    if (compiles) match = waits ? compile_in_background(call) : find_or_compile(call);
  } catch (const detail::NewNumbers&) {  // the call is made again, with the numbers
    calls.fetch_sub(1, std::memory_order_relaxed);
    throw;
  }
  if (match) {
    match->version->last_call.store(number, std::memory_order_relaxed);
    match->version->throw_if_refused();
  }
  if (match && match->instance == nullptr) match.reset();
  const bool in_parts = !match && !waits && may_run_in_parts();
  if (!match && !is_trial) {
    std::unique_lock lock(versions_mutex);
    ++(waits ? report.waiting_calls : in_parts ? report.broken_calls : report.eager_calls);
  } else if (known && options.check_recapture) {
    check_recapture(*match->instance, call);
  }
  return {std::move(match), in_parts, is_trial};
}

std::optional<Match> Function::Impl::find(const Call& call) const {
  std::shared_lock lock(versions_mutex);
  return compiler::match(versions, call);
}

std::optional<Match> Function::Impl::find_or_compile(const Call& call) {
  if (process_end::begun_here()) {
    run_eagerly_at_exit();
    return std::nullopt;
  }
  const process_end::Section section(process_end::Work::Making);
  const std::scoped_lock capturing(capture_mutex);
  if (auto match = find(call)) return match;  // another thread made a version meanwhile
  const Making making(*this);
  auto outcome = record(call);
  if (auto* match = std::get_if<Match>(&outcome)) return std::move(*match);
  if (std::holds_alternative<TooManyVersions>(outcome)) return std::nullopt;
  auto* recorded = std::get_if<Recorded>(&outcome);
  if (recorded->keeps())
    if (auto match = serve_once(call, *recorded)) return match;
  return make_version(call, std::move(*recorded));
}

Function::Impl::ColdCall Function::Impl::record(const Call& call) {
  Recorded recorded;
  try {
    if (auto match = confirm(call, recorded)) return std::move(*match);
    if (recorded.keeps()) return recorded;
    if (auto match = reuse(call, recorded)) return std::move(*match);
    if (recorded.keeps()) return recorded;
    if (recorded.reason.empty()) recorded.reason = recapture_reason(call);
    if (!make_room(recorded.reason)) {
      give_up(recorded.reason);
      return TooManyVersions();
    }
    driver->record(call, versions, recorded);
    if (!recorded.keeps()) keep_fixed_sizes(recorded.program->fixed_sizes);
  } catch (const Error& error) {
    recorded.eager_reason = eager_reason_of(error);
  }
  return recorded;
}

std::optional<Match> Function::Impl::make_version(const Call& call, Recorded recorded,
                                                  const std::function<bool()>& unchanged) {
  std::shared_ptr<Version> version;
  try {
    if (recorded.eager_reason.empty()) version = driver->compile(call, recorded);
  } catch (const Error& error) {
    recorded.eager_reason = eager_reason_of(error);
  }
  if (!recorded.eager_reason.empty()) {
    if (recorded.kept > 0) recorded.met.clear();
    version = uncompiled_version(call, std::move(recorded.met));
    ++eager_versions;
    unbroken = false;
  }
  if (unchanged && !unchanged()) return std::nullopt;
  // Another thread must not look at the tensors: the caller may change them right now.
  std::optional<Match> match;
  if (!unchanged) match = compiler::match_new_version(version, call);
  if (!unchanged && !match)
    throw Error(
        ErrorCode::Internal, "compile",
        "a captured graph does not serve the call it was captured for: " + version->mismatches(call).front());
  if (!version->is_eager()) {
    kept_before.reset();
    kept_calls = 0;
  }
  compiler::trace_version(*version, options, call, recorded.reason, recorded.eager_reason);
  add(std::move(version), recorded.reason, recorded.eager_reason);
  return match;
}

std::shared_ptr<Version> Function::Impl::uncompiled_version(const Call& call, std::vector<at::Tensor> met) {
  // Captured tensors that differ in every call should not cause a new attempt in every call, and a function
  // with state should run as few times as possible: later eager versions do not guard on captured tensors.
  const bool again = eager_versions >= (stretches ? 1 : kMostEagerTries);
  if (again) met.clear();
  auto guards = compiler::guards_of_attempt(options, call, met);
  // What runs in parts needs no guards. Other sizes are tried once; then they are taken to break as well.
  if (stretches && again)
    for (auto& guard : guards.arguments) guard.ignore_shape();
  return std::make_shared<Version>(std::move(guards));
}

bool capturing() { return capture::active_recorder() != nullptr; }

static thread_local int plain_runs = 0;
PlainRun::PlainRun() { ++plain_runs; }
PlainRun::~PlainRun() { --plain_runs; }

bool inside_function() {
  return plain_runs > 0 || capturing() || torch::autograd::get_current_node() != nullptr;
}

void refuse_shared_variable(size_t argument) {
  throw Error(
      ErrorCode::UnsupportedArgument, "compile",
      fmt::format("the function assigns to argument {}, which contains another argument or is part of one",
                  argument),
      "Pass only one of the two, or return the new value");
}

}  // namespace antegrad::detail
