#include "capture/recording.h"

#include <ATen/SavedTensorHooks.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/runtime/profiling_graph_executor_impl.h>

#include <mutex>
#include <optional>

#include "antegrad/error.h"
#include "capture/host_reads.h"
#include "capture/mode.h"
#include "capture/outside_hooks.h"
#include "capture/place.h"
#include "util/fork_mutex.h"

namespace antegrad::capture {
namespace {

/// Turns off the autocast cache, which would keep fakes as casts of real weights.
class AutocastCacheOff {
 public:
  AutocastCacheOff() : was_(at::autocast::is_autocast_cache_enabled()) {
    at::autocast::set_autocast_cache_enabled(false);
  }
  ~AutocastCacheOff() { at::autocast::set_autocast_cache_enabled(was_); }
  AutocastCacheOff(const AutocastCacheOff&) = delete;
  AutocastCacheOff& operator=(const AutocastCacheOff&) = delete;

 private:
  bool was_;
};

/// Turns off TorchScript's profiling executor, which would specialise on fakes. The switch is process-wide,
/// so concurrent captures share it.
class JitProfilingOff {
 public:
  JitProfilingOff() {
    std::scoped_lock lock(mutex());
    if (depth()++ == 0) {
      saved().first = torch::jit::getProfilingMode().exchange(false);
      saved().second = torch::jit::getExecutorMode().exchange(false);
    }
  }
  ~JitProfilingOff() {
    std::scoped_lock lock(mutex());
    if (--depth() == 0) {
      torch::jit::getProfilingMode() = saved().first;
      torch::jit::getExecutorMode() = saved().second;
    }
  }
  JitProfilingOff(const JitProfilingOff&) = delete;
  JitProfilingOff& operator=(const JitProfilingOff&) = delete;

 private:
  static BriefMutex& mutex() {
    static auto& m = *new BriefMutex;
    return m;
  }
  static int& depth() {
    static int d = 0;
    return d;
  }
  static std::pair<bool, bool>& saved() {
    static std::pair<bool, bool> s;
    return s;
  }
};

/// Turns off the thread's hooks for saved tensors, which would be called with fakes.
class SavedTensorHooksOff {
 public:
  SavedTensorHooksOff() : was_(at::SavedTensorDefaultHooks::set_tracing(true)) {}
  ~SavedTensorHooksOff() { at::SavedTensorDefaultHooks::set_tracing(was_); }
  SavedTensorHooksOff(const SavedTensorHooksOff&) = delete;
  SavedTensorHooksOff& operator=(const SavedTensorHooksOff&) = delete;

 private:
  bool was_;
};

}  // namespace

struct Recording::Switches {
  explicit Switches(Recorder& recorder) : mode(recorder) {
    if (recorder.tape == nullptr) hooks.emplace();
  }
  JitProfilingOff profiling;
  AutocastCacheOff autocast;
  std::optional<SavedTensorHooksOff> hooks;  ///< on under a tape, whose tensors become real
  RecordingMode mode;
  torch::jit::GraphOptimizerEnabledGuard optimizer{false};  ///< it would fold fakes into TorchScript's graphs
};

Recording::Recording(Recorder& recorder)
    : recorder_(recorder), switches_(std::make_unique<Switches>(recorder)) {
  refuse_hooks_of_outside();
}
Recording::~Recording() = default;

void Recording::run(const std::function<void()>& code) {
  const HostReads host_reads(recorder_);
  try {
    code();
  } catch (const Error& error) {
    if (recorder_.threw(error) || typeid(error) != typeid(Error)) throw;
    recorder_.unfollow();
    throw with_place(error, recorder_.graph(), {});
  } catch (const c10::Error& error) {
    if (!is_data_access(error)) throw;
    recorder_.unfollow();
    const Error refusal(
        ErrorCode::DataRead, "capture:data_ptr", "the function reads the memory of a tensor on the host",
        "Compute with tensor ops, pass the tensor's contents as an argument, or set Options::unsupported to "
        "Eager");
    throw with_place(refusal, recorder_.graph(), call_stack_of(error));
  } catch (const std::exception& error) {
    // TorchScript's interpreter converts errors to a type of its own, with our text inside.
    if (recorder_.threw(error)) std::rethrow_exception(recorder_.last_error);
    throw;
  }
}

}  // namespace antegrad::capture
