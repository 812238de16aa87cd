#include <ATen/ThreadLocalState.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/function.h>
#include <unistd.h>

#include <sstream>

#include "antegrad/error.h"
#include "capture/mode.h"
#include "compiler/background_worker.h"
#include "compiler/environment.h"
#include "compiler/function_impl.h"
#include "compiler/progress.h"
#include "compiler/tracing.h"
#include "passes/pipeline.h"
#include "runtime/parallel.h"
#include "util/process_end.h"
#include "util/reasons.h"

namespace antegrad::detail {
namespace {

/// Errors that say "this function cannot be compiled", as against "this call is wrong".
bool is_unsupported(ErrorCode code) {
  switch (code) {
    case ErrorCode::DataRead:
    case ErrorCode::DataDependentShape:
    case ErrorCode::UnsupportedTensor:
    case ErrorCode::UnsupportedOp:
    case ErrorCode::UnsupportedArgument:
    case ErrorCode::NeedsGrad:
      return true;
    default:
      return false;
  }
}

constexpr int kMostEagerTries = 4;
constexpr int kMostTries = 100;  // of what other threads may get in the way of

/// The first lines in which two graph texts differ.
std::string first_difference(const std::string& before, const std::string& after) {
  std::istringstream a(before);
  std::istringstream b(after);
  std::string old_line;
  std::string new_line;
  for (int number = 1;; ++number) {
    const bool more_a = static_cast<bool>(std::getline(a, old_line));
    const bool more_b = static_cast<bool>(std::getline(b, new_line));
    if (!more_a) old_line = "<end>";
    if (!more_b) new_line = "<end>";
    if (old_line != new_line || (!more_a && !more_b))
      return fmt::format("line {}:\n- {}\n+ {}", number, old_line, new_line);
  }
}

/// Whether the uncompiled call changes what the guards of a version are made of: the shape of an argument, or
/// whether it requires a gradient.
bool changes_arguments(const Captured& captured, const Leaves& leaves) {
  const auto& signature = captured.functional.signature;
  const auto is_argument = [&](int32_t input) { return static_cast<size_t>(input) < leaves.tensors.size(); };
  return std::any_of(signature.changed.begin(), signature.changed.end(), is_argument) ||
         (captured.trace.differentiable &&
          std::any_of(signature.written.begin(), signature.written.end(), is_argument));
}

/// Tensors as they are now, but for their gradients.
class Snapshot {
 public:
  explicit Snapshot(const Leaves& leaves) {
    for (const auto& tensor : leaves.tensors) guards_.emplace_back(tensor).ignore_grad();
  }
  bool holds(const Leaves& leaves) const {
    for (size_t i = 0; i < guards_.size(); ++i)
      if (!guards_[i].holds(leaves.tensors[i])) return false;
    return true;
  }

 private:
  std::vector<runtime::TensorGuard> guards_;
};

}  // namespace

bool Function::Impl::find(const Leaves& leaves, const runtime::Ambient& ambient, Found& found) const {
  std::shared_lock lock(versions_mutex);
  for (const auto& version : versions) {
    if (version->matches(leaves, ambient, found.inputs, found.instance)) {
      found.version = version;
      return true;
    }
    found.instance = nullptr;  // of a version whose last guard failed: it serves nobody
  }
  return false;
}

/// Drops versions that can never match again. Says why none of the rest matches; false when there are too
/// many.
bool Function::Impl::room_for_another(std::string& reason, const Leaves& leaves,
                                      const runtime::Ambient& ambient) {
  std::unique_lock lock(versions_mutex);
  if (reason.empty()) reason = std::exchange(kept_reason, "");
  if (!versions.empty() && reason.empty()) reason = versions.front()->mismatch(leaves, ambient);
  std::erase_if(versions, [](const auto& version) { return version->dead(); });
  return versions.size() < static_cast<size_t>(std::max(1, options.max_versions));
}

void Function::Impl::add(std::shared_ptr<Version> version, const std::string& reason,
                         const std::string& eager_reason) {
  std::unique_lock lock(versions_mutex);
  ++report.captures;
  if (!reason.empty()) keep_newest(report.recapture_reasons, reason);
  if (!eager_reason.empty()) keep_once(report.eager_reasons, eager_reason);
  if (!version->is_eager()) report.nodes = version->compiled().plan().graph.nodes.size();
  for (const auto& [op, count] : version->shape_fallbacks()) report.shape_fallbacks[op] += count;
  versions.insert(versions.begin(), std::move(version));
}

/// Whether a version that has symbols serves these sizes too. If one should and does not, `reason` says why.
bool Function::Impl::reuse(const Captured& captured, const Leaves& leaves, const runtime::Ambient& ambient,
                           const KeepRun& keep, std::string& reason) {
  for (const auto& version : versions) {  // nobody else changes them: capture_mutex is taken
    if (!version->is_dynamic() || !version->allows(leaves, ambient)) continue;
    std::string why;
    if (auto instance = version->make_instance(settings(), leaves, captured, keep, why)) {
      std::unique_lock lock(versions_mutex);
      version->add(std::move(instance), options.max_sizes);
      ++report.sizes;
      return true;
    }
    reason = fmt::format("the function does something else at these sizes: {}", why);
  }
  return false;
}

/// Whether a version serves the call after all, of which it seemed that a watched module was replaced.
bool Function::Impl::confirm(const Leaves& leaves, const runtime::Ambient& ambient,
                             c10::function_ref<const Captured&()> capture) {
  for (const auto& version : versions) {  // nobody else changes them: capture_mutex is taken
    if (!version->lost_owner()) continue;
    const auto& captured = capture();
    if (captured.trace.kept > 0) return false;
    version->check_not_replaced(options, leaves, ambient, captured.trace);
    std::unique_lock lock(versions_mutex);
    if (version->confirm(options, leaves, ambient, captured)) return true;
  }
  return false;
}

/// Calls from static destructors get their results still.
void Function::Impl::run_eagerly_at_exit() {
  const auto reason = fmt::format("'{}' runs eagerly: the process is ending", options.name);
  trace::warn("eager", reason, "Call it once with such arguments before main() returns");
  std::unique_lock lock(versions_mutex);
  keep_once(report.eager_reasons, reason);
}

void Function::Impl::find_or_capture(const Leaves& leaves, const runtime::Ambient& ambient,
                                     const RunOnTensors& run, const KeepRun& keep, Found& found) {
  if (process_end::begun_here()) return run_eagerly_at_exit();
  const process_end::Section section(process_end::Work::Making);
  std::scoped_lock capturing(capture_mutex);
  if (find(leaves, ambient, found)) return;  // another thread was first
  const Making making(*this);
  auto call = capture(leaves, ambient, run, keep, found);
  if (call && call->keeps()) make_once(*call, leaves, ambient, run, keep, found);
  if (call && !found.once) make_version(std::move(*call), leaves, ambient, keep, found);
}

std::optional<Function::Impl::NewCall> Function::Impl::capture(const Leaves& leaves,
                                                               const runtime::Ambient& ambient,
                                                               const RunOnTensors& run, const KeepRun& keep,
                                                               Found& found) {
  NewCall call;
  const ModuleState modules(options.watch);
  const auto capture = [&]() -> const Captured& {
    if (call.captured) return *call.captured;
    compiler::tell_progress(options, "capture", 0, 1);
    const std::vector<at::Tensor> inputs(leaves.tensors.begin(), leaves.tensors.end());
    auto own = settings();
    own.may_keep = true;
    own.kept = &call.kept;
    own.met = &call.met;
    call.captured = compiler::capture_call(own, inputs, &modules, run);
    compiler::tell_progress(options, "capture", 1, 1);
    return *call.captured;
  };
  try {
    if (std::any_of(
            versions.begin(), versions.end(),
            [&](const auto& known) { return known->is_dynamic() && known->allows(leaves, ambient); }) &&
        capture().trace.kept == 0 && reuse(capture(), leaves, ambient, keep, call.reason) &&
        find(leaves, ambient, found))
      return std::nullopt;
    if (call.keeps()) return call;
    if (confirm(leaves, ambient, capture) && find(leaves, ambient, found)) return std::nullopt;
    if (!room_for_another(call.reason, leaves, ambient)) {
      give_up(call.reason);
      return std::nullopt;
    }
    if (capture().trace.kept > 0) return call;
    std::vector<std::string> fixed_sizes;
    call.planned = maker->plan({capture(), leaves, ambient, run, versions}, fixed_sizes);
    if (maker->has_kept()) {  // at other sizes; what it has kept there may have replaced what this call needs
      call.captured.reset();
      call.kept_elsewhere = true;
      if (capture().trace.kept > 0) return call;
      call.planned = maker->plan({capture(), leaves, ambient, run, versions}, fixed_sizes);
    }
    keep_fixed_sizes(fixed_sizes);
  } catch (const Error& error) {
    call.eager_reason = eager_reason_of(error);
  }
  return call;
}

void Function::Impl::make_version(NewCall call, const Leaves& leaves, const runtime::Ambient& ambient,
                                  const KeepRun& keep, Found& found, const std::function<bool()>& unchanged) {
  std::shared_ptr<Version> version;
  try {
    if (call.eager_reason.empty()) {
      version = maker->make(*call.captured, leaves, std::move(*call.planned));
      std::string why;
      auto instance = version->make_instance(settings(), leaves, *call.captured, keep, why);
      if (instance == nullptr)
        throw Error(ErrorCode::Internal, "compile",
                    "a captured graph does not serve the call it was captured for: " + why);
      version->add(std::move(instance), options.max_sizes);
    }
  } catch (const Error& error) {
    call.eager_reason = eager_reason_of(error);
  }
  if (!call.eager_reason.empty()) {
    // Tensors that are others at every call are no reason to try again at every call, and a function that has
    // a state is not to be run more often than need be.
    if (call.kept > 0 || ++eager_versions > kMostEagerTries) call.met.clear();
    version = std::make_shared<Version>(options, leaves, call.met);
  }
  if (unchanged && !unchanged()) return;
  // Threads that are about to end let go of modules, also right now.
  for (int tries = 0; !version->matches(leaves, ambient, found.inputs, found.instance); ++tries) {
    if (tries == kMostTries || !version->lost_owner())
      throw Error(ErrorCode::Internal, "compile",
                  "a captured graph does not serve the call it was captured for: " +
                      version->mismatch(leaves, ambient));
    if (version->is_eager())
      version = std::make_shared<Version>(options, leaves, call.met);
    else
      version->confirm(options, leaves, ambient, *call.captured);
  }
  found.version = version;
  if (!version->is_eager()) {
    kept_before.reset();
    kept_calls = 0;
  }
  compiler::trace_version(*version, options, leaves, call.reason, call.eager_reason);
  add(std::move(version), call.reason, call.eager_reason);
}

/// Why the call is to run eagerly; throws the error on where that is not wanted.
std::string Function::Impl::eager_reason_of(const Error& error) const {
  if (options.unsupported != Unsupported::Eager || !is_unsupported(error.code())) {
    trace::warn("error", error.what());
    throw;
  }
  return error.what();
}

void Function::Impl::keep_fixed_sizes(const std::vector<std::string>& reasons) {
  std::unique_lock lock(versions_mutex);
  for (const auto& reason : reasons)
    if (keep_once(report.fixed_sizes, reason))
      trace::warn("fixed_size", reason, "Each value of it is compiled for itself");
}

/// There are too many versions.
void Function::Impl::give_up(const std::string& reason) {
  auto text = fmt::format("'{}' was captured {} times, the last time because {}", options.name,
                          options.max_versions, reason);
  if (!report.fixed_sizes.empty()) text += fmt::format("; {}", report.fixed_sizes.back());
  if (options.unsupported != Unsupported::Eager)
    throw Error(ErrorCode::TooManyVersions, "compile", text,
                "Pass what changes from call to call as a tensor, or raise Options::max_versions");
  trace::warn("eager", text, "Pass what changes as a tensor, or raise Options::max_versions");
  std::unique_lock lock(versions_mutex);
  keep_once(report.eager_reasons, text);
}

void Function::Impl::check_recapture(const Instance& instance, const Leaves& leaves,
                                     const RunOnTensors& run) {
  const auto text = compiler::traced_text_now(options, leaves, run);
  if (text == instance.traced_text) return;
  throw Error(ErrorCode::GraphChanged, "compile",
              fmt::format("'{}' does something else than when it was captured; {}", options.name,
                          first_difference(instance.traced_text, text)),
              "Pass what changed (a number, a flag) as an argument, or name the module in Options::watch");
}

Function::Function(Options options, bool effects) : impl_(std::make_unique<Impl>()) {
  impl_->effects = effects;
  impl_->options = compiler::with_environment(std::move(options));
  if (impl_->options.compile == Compile::Background) impl_->options.backward_ahead = true;
  for (const auto& name : impl_->options.disabled_passes) passes::find_pass(name);
  impl_->lowering = std::make_shared<const compiler::Lowering>(impl_->options);
  impl_->maker.emplace(impl_->settings());
  const trace::In in({impl_->trace_id, 0, ""});
  compiler::trace_function(impl_->options);
}

Function::~Function() {
  if (impl_->options.compile == Compile::Background)
    compiler::BackgroundWorker::instance().forget(impl_.get());
}

/// Only the thread that calls the function knows that nobody trains meanwhile what is captured, so it
/// captures.
void Function::Impl::compile_in_background(const Leaves& leaves, const runtime::Ambient& ambient,
                                           const RunOnTensors& run, const KeepRun& keep, Found& found) {
  if (process_end::begun_here()) return run_eagerly_at_exit();
  {
    const std::scoped_lock lock(background_mutex);
    if (background_error) std::rethrow_exception(std::exchange(background_error, nullptr));
    if (in_background == ::getpid()) return;  // this call's turn comes when it is made again
    in_background = ::getpid();
  }
  const auto end = [this](std::exception_ptr error) {
    const std::scoped_lock lock(background_mutex);
    background_error = std::move(error);
    in_background = 0;
  };
  try {
    std::optional<NewCall> call;
    {
      const process_end::Section section(process_end::Work::Making);
      const std::scoped_lock capturing(capture_mutex);
      if (!find(leaves, ambient, found)) {  // else: another thread was first
        const Making making(*this);
        call = capture(leaves, ambient, run, keep, found);
        if (call && call->keeps()) make_once(*call, leaves, ambient, run, keep, found);
        if (call && !found.once && call->eager_reason.empty() && changes_arguments(*call->captured, leaves)) {
          make_version(std::move(*call), leaves, ambient, keep, found);  // later they would be others
          call.reset();
        }
      }
    }
    if (!call || found.once) return end(nullptr);
    const auto job = [this, end, call = std::make_shared<NewCall>(std::move(*call)), leaves, ambient,
                      before = Snapshot(leaves), run = keep(), state = at::ThreadLocalState()] {
      std::exception_ptr error;
      const auto unchanged = [&] { return before.holds(leaves); };
      if (!unchanged()) return end(nullptr);  // the next call is captured anew
      try {
        const at::ThreadLocalStateGuard as_the_caller(state);
        const runtime::AmbientGuard autocast(ambient);
        const std::scoped_lock capturing(capture_mutex);
        const Making making(*this);
        Found made;
        make_version(
            std::move(*call), leaves, ambient, [&] { return run; }, made, unchanged);
      } catch (...) {
        if (unchanged()) error = std::current_exception();
      }
      end(std::move(error));
    };
    compiler::BackgroundWorker::instance().submit(this, job);
  } catch (...) {
    end(nullptr);
    throw;
  }
}

void Function::Impl::serve(const Leaves& leaves, const RunOnTensors& run, const KeepRun& keep, Found& found) {
  runtime::leave_lost_threads();
  calls.fetch_add(1, std::memory_order_relaxed);
  const auto ambient = runtime::Ambient::now();
  const bool known = find(leaves, ambient, found);
  const bool waits = !known && options.compile == Compile::Background;
  if (waits)
    compile_in_background(leaves, ambient, run, keep, found);
  else if (!known)
    find_or_capture(leaves, ambient, run, keep, found);
  if (found.version != nullptr) found.version->throw_if_refused();
  if (found.instance == nullptr) {
    std::unique_lock lock(versions_mutex);
    ++(waits ? report.waiting_calls : report.eager_calls);
  } else if (known && options.check_recapture) {
    check_recapture(*found.instance, leaves, run);
  }
}

Outcome Function::call(const Leaves& leaves, const RunOnTensors& run, const KeepRun& keep) {
  Impl::Found found;
  impl_->serve(leaves, run, keep, found);
  if (found.instance == nullptr) return {{}, nullptr, true};
  auto outputs = found.instance->caller->call(found.inputs);
  found.share_kept(outputs);
  found.leave_grad_mode();
  return {std::move(outputs), found.instance->pattern, false};
}

Outcome Function::consume(Leaves&& leaves, const RunOnTensors& run, const KeepRun& keep,
                          c10::function_ref<void()> let_go) {
  Impl::Found found;
  impl_->serve(leaves, run, keep, found);
  if (found.instance == nullptr) return {{}, nullptr, true};
  leaves = {};
  let_go();
  std::vector<at::Tensor> inputs(std::make_move_iterator(found.inputs.begin()),
                                 std::make_move_iterator(found.inputs.end()));
  found.inputs.clear();
  auto outputs = found.instance->caller->consume(std::move(inputs));
  found.share_kept(outputs);
  found.leave_grad_mode();
  return {std::move(outputs), found.instance->pattern, false};
}

bool capturing() { return capture::active_recorder() != nullptr; }

static thread_local int plain_runs = 0;
PlainRun::PlainRun() { ++plain_runs; }
PlainRun::~PlainRun() { --plain_runs; }

bool inside_function() {
  return plain_runs > 0 || capturing() || torch::autograd::get_current_node() != nullptr;
}

void refuse_shared_variable(size_t argument) {
  throw Error(ErrorCode::UnsupportedArgument, "compile",
              fmt::format("the function assigns to argument {}, and another one is a part of it or holds it",
                          argument),
              "Pass only one of the two, or return the new value");
}

}  // namespace antegrad::detail
