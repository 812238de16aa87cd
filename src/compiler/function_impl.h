#pragma once
#include <c10/core/GradMode.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

#include "antegrad/function.h"
#include "compiler/version.h"
#include "compiler/version_maker.h"
#include "trace/trace.h"
#include "util/fork_mutex.h"

namespace antegrad::detail {

using compiler::Captured;
using compiler::CaptureSettings;
using compiler::Inputs;
using compiler::Instance;
using compiler::InstancePtr;
using compiler::ModuleState;
using compiler::Version;

struct Function::Impl {
  Options options;
  bool effects = true;
  std::shared_ptr<const compiler::Lowering> lowering;
  std::optional<compiler::VersionMaker> maker;  ///< used with capture_mutex taken
  std::atomic<uint64_t> calls{0};
  const int64_t trace_id = trace::new_function_id();

  mutable BriefSharedMutex versions_mutex;         ///< guards versions and report
  std::vector<std::shared_ptr<Version>> versions;  ///< newest first
  Report report;

  LongMutex capture_mutex{
      "capturing or compiling it"};  ///< one capture at a time; taken before versions_mutex

  BriefMutex background_mutex;
  pid_t in_background =
      0;  ///< the process in which something is being compiled there, or waits to be; 0: none
  std::exception_ptr background_error;  ///< for the next call that needs what could not be compiled

  // Used with capture_mutex taken: calls in which the function has kept tensors (capture/kept.h). The first
  // one may fill a cache; when it keeps some again in the next one like it, or in too many one after another,
  // calls like it are refused from then on.
  std::shared_ptr<Version> kept_before;  ///< stands for the last one; null: there was code since
  int kept_calls = 0;                    ///< one after another
  std::string kept_reason;               ///< why the next version is made
  int eager_versions = 0;                ///< made so far

  /// What serves a call.
  struct Found {
    std::shared_ptr<const Version> version;
    InstancePtr instance;
    Inputs inputs;
    bool once = false;                              ///< for this call only: the function has kept tensors
    std::vector<capture::KeptOutput> kept_outputs;  ///< as in capture::Trace
    void share_kept(std::vector<at::Tensor>& outputs);
    /// Sets the grad mode that the function leaves behind.
    void leave_grad_mode() const {
      if (c10::GradMode::is_enabled() != instance->grad_mode_after)
        c10::GradMode::set_enabled(instance->grad_mode_after);
    }
  };
  /// A call that no version serves, captured: all but the code.
  struct NewCall {
    std::string reason;                ///< why no version serves it
    std::optional<Captured> captured;  ///< holds lifted tensors until Found::inputs does
    std::optional<compiler::NewVersion> planned;
    std::string eager_reason;  ///< "": there is to be code
    /// At other sizes it kept tensors, which may have replaced some that this call needs.
    bool kept_elsewhere = false;
    size_t kept = 0;              ///< tensors that it has kept, also when it threw
    std::vector<at::Tensor> met;  ///< captured tensors that it had used when it threw
    bool keeps() const { return captured && captured->trace.kept > 0; }
  };
  /// What is traced while it lives belongs to the next version.
  struct Making {
    explicit Making(const Impl& of)
        : in({of.trace_id, static_cast<int64_t>(of.report.captures) + 1, ""}),
          span("make a version", of.options.name) {}
    const trace::In in;
    const trace::Span span;
  };
  bool find(const Leaves& leaves, const runtime::Ambient& ambient, Found& found) const;
  /// Leaves `found` without a version when the call is to run eagerly.
  void find_or_capture(const Leaves& leaves, const runtime::Ambient& ambient, const RunOnTensors& run,
                       const KeepRun& keep, Found& found);
  /// Runs the function over fakes. Nothing: a version was found, or the call is to run eagerly.
  std::optional<NewCall> capture(const Leaves& leaves, const runtime::Ambient& ambient,
                                 const RunOnTensors& run, const KeepRun& keep, Found& found);
  /// Makes the version for a captured call.
  /// Nothing is added when `unchanged` says that the arguments are no longer what was captured.
  void make_version(NewCall call, const Leaves& leaves, const runtime::Ambient& ambient, const KeepRun& keep,
                    Found& found, const std::function<bool()>& unchanged = {});
  /// The function has kept tensors while it was captured: that was a run of it, which is completed by what
  /// was captured. It is not run again for this call.
  void make_once(NewCall& call, const Leaves& leaves, const runtime::Ambient& ambient,
                 const RunOnTensors& run, const KeepRun& keep, Found& found);
  /// Sees to it that later calls like this one find code.
  void compile_in_background(const Leaves& leaves, const runtime::Ambient& ambient, const RunOnTensors& run,
                             const KeepRun& keep, Found& found);
  /// What call() and consume() have in common: leaves `found` without an instance when the call is to run
  /// eagerly.
  void serve(const Leaves& leaves, const RunOnTensors& run, const KeepRun& keep, Found& found);
  bool reuse(const Captured& captured, const Leaves& leaves, const runtime::Ambient& ambient,
             const KeepRun& keep, std::string& reason);
  bool confirm(const Leaves& leaves, const runtime::Ambient& ambient,
               c10::function_ref<const Captured&()> capture);
  void add(std::shared_ptr<Version> version, const std::string& reason, const std::string& eager_reason);
  std::shared_ptr<const Version> newest() const;  ///< null: none was captured
  bool room_for_another(std::string& reason, const Leaves& leaves, const runtime::Ambient& ambient);
  void give_up(const std::string& reason);
  void run_eagerly_at_exit();
  std::string eager_reason_of(const Error& error) const;
  void keep_fixed_sizes(const std::vector<std::string>& reasons);
  void check_recapture(const Instance& instance, const Leaves& leaves, const RunOnTensors& run);
  CaptureSettings settings() const { return {options, effects, lowering}; }
};

}  // namespace antegrad::detail
