// Calls that run eagerly while their code is compiled on another thread.
#include <ATen/ThreadLocalState.h>
#include <unistd.h>

#include <utility>

#include "compiler/function/background_worker.h"
#include "compiler/function/function_impl.h"
#include "util/process_end.h"

namespace antegrad::detail {
namespace {

/// Whether the uncompiled call changes something that is guarded: the shape of an argument or its
/// requires_grad.
bool changes_arguments(const compiler::Captured& captured, const Leaves& leaves) {
  const auto& signature = captured.functional.signature;
  const auto is_argument = [&](int32_t input) { return std::cmp_less(input, leaves.tensors.size()); };
  return std::any_of(signature.changed.begin(), signature.changed.end(), is_argument) ||
         (captured.trace.differentiable &&
          std::any_of(signature.written.begin(), signature.written.end(), is_argument));
}

/// A snapshot of the metadata of tensors, without their gradients.
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

/// Only the calling thread knows that nobody modifies the captured tensors meanwhile, so it does the capture.
/// When the outcome is a recorded call, the rest can be done later.
Function::Impl::ColdCall Function::Impl::record_for_later(const Call& call) {
  const process_end::Section section(process_end::Work::Making);
  const std::scoped_lock capturing(capture_mutex);
  if (auto match = find(call)) return std::move(*match);  // another thread made a version meanwhile
  const Making making(*this);
  auto outcome = record(call);
  auto* recorded = std::get_if<Recorded>(&outcome);
  if (recorded == nullptr) return outcome;
  if (recorded->keeps())
    if (auto match = serve_once(call, *recorded)) return std::move(*match);
  if (recorded->eager_reason.empty() && changes_arguments(*recorded->captured, call.leaves))
    if (auto match = make_version(call, std::move(*recorded))) return std::move(*match);
  return outcome;
}

std::optional<Match> Function::Impl::compile_in_background(const Call& call) {
  if (process_end::begun_here()) {
    run_eagerly_at_exit();
    return std::nullopt;
  }
  {
    const std::scoped_lock lock(background_mutex);
    if (background_error) std::rethrow_exception(std::exchange(background_error, nullptr));
    if (in_background == ::getpid()) return std::nullopt;  // a later call like this one will be compiled
    in_background = ::getpid();
  }
  const auto end = [this](std::exception_ptr error) {
    const std::scoped_lock lock(background_mutex);
    background_error = std::move(error);
    in_background = 0;
  };
  try {
    auto outcome = record_for_later(call);
    auto* recorded = std::get_if<Recorded>(&outcome);
    if (recorded == nullptr) {
      end(nullptr);
      auto* match = std::get_if<Match>(&outcome);
      return match != nullptr ? std::optional<Match>(std::move(*match)) : std::nullopt;
    }
    const auto job = [this, end, recorded = std::make_shared<Recorded>(std::move(*recorded)),
                      leaves = call.leaves, ambient = call.ambient, before = Snapshot(call.leaves),
                      run = call.keep(), state = at::ThreadLocalState()] {
      std::exception_ptr error;
      const auto unchanged = [&] { return before.holds(leaves); };
      if (!unchanged()) return end(nullptr);  // the next call is captured again
      try {
        const at::ThreadLocalStateGuard as_the_caller(state);
        const runtime::AmbientGuard autocast(ambient);
        const std::scoped_lock capturing(capture_mutex);
        const Making making(*this);
        const auto keep = [&] { return run; };
        make_version({leaves, run, keep, ambient}, std::move(*recorded), unchanged);
      } catch (...) {
        if (unchanged()) error = std::current_exception();
      }
      end(std::move(error));
    };
    compiler::BackgroundWorker::instance().submit(this, job);
    return std::nullopt;
  } catch (...) {
    end(nullptr);
    throw;
  }
}

}  // namespace antegrad::detail
