#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <variant>
#include <vector>

#include "antegrad/function.h"
#include "compiler/code/driver.h"
#include "compiler/function/new_sizes.h"
#include "compiler/function/stretches.h"
#include "compiler/function/version.h"
#include "trace/trace.h"
#include "util/fork_mutex.h"

namespace antegrad::detail {

using compiler::Call;
using compiler::Match;
using compiler::Recorded;
using compiler::Version;

struct Function::Impl {
  Options options;
  bool effects = true;
  std::shared_ptr<const compiler::Lowering> lowering;
  std::optional<compiler::Driver> driver;        ///< guarded by capture_mutex
  std::optional<compiler::Stretches> stretches;  ///< with Unsupported::Break
  /// With Unsupported::Break: a call tried in parts had no break, so the next one may be captured.
  std::atomic<bool> unbroken{false};
  std::shared_ptr<runtime::EarlyResults> early;  ///< as in hand_results_to()
  std::atomic<uint64_t> calls{0};
  std::optional<compiler::NewSizes> new_sizes;  ///< nothing when all sizes are compiled
  std::once_flag new_sizes_told;
  const int64_t trace_id = trace::new_function_id();

  mutable BriefSharedMutex versions_mutex;         ///< guards versions and report
  std::vector<std::shared_ptr<Version>> versions;  ///< newest first
  Report report;

  LongMutex capture_mutex{
      "capturing or compiling it"};  ///< one capture at a time; locked before versions_mutex

  BriefMutex background_mutex;
  /// The process that has a background job running or queued; 0 when there is none.
  pid_t in_background = 0;
  /// The error of the last background job, thrown by the next call without a match.
  std::exception_ptr background_error;

  // Calls in which the function kept tensors (capture/kept.h), guarded by capture_mutex. The first one may
  // have filled a cache. If the next call like it keeps tensors again, or too many calls in a row do, calls
  // like it are refused from then on.
  std::shared_ptr<Version> kept_before;  ///< stands for the last one; null if a version was compiled since
  int kept_calls = 0;                    ///< in a row
  std::string kept_reason;               ///< reason to report for the next version
  int eager_versions = 0;                ///< made so far
  int wasted_versions = 0;  ///< dropped in a row that served no call but the one they were made for

  /// While it lives, trace events belong to the next version.
  struct Making {
    explicit Making(const Impl& of)
        : in({of.trace_id, static_cast<int64_t>(of.report.captures) + 1, ""}),
          span("make a version", of.options.name) {}
    const trace::In in;
    const trace::Span span;
  };

  // --- The path of a call (function.cpp). Functions that return no match mean that the call runs eagerly.
  /// What serves a call: a version, or nothing. Then the call runs in parts or eagerly.
  struct Served {
    std::optional<Match> match;
    bool in_parts = false;
    bool is_trial = false;  ///< it is not known yet whether the function has breaks
  };
  /// The common part of call() and consume(). `may_try`: the call can be run in parts.
  Served serve(const Call& call, bool may_try = true);
  // Functions with graph breaks (function_breaks.cpp). A capture that fails has run the function up to its
  // first break, so a function that may have breaks is tried in parts first: no call runs it twice.
  Outcome run_in_parts(const Call& call);
  Outcome try_in_parts(const Call& call);
  bool may_run_in_parts() const;
  bool needs_trial() const;
  std::optional<Match> find(const Call& call) const;
  /// Whether call number `number`, which no version serves, runs uncompiled because its sizes are not likely
  /// to come again.
  bool passes_by(const Call& call, uint64_t number);
  void tell_new_sizes();
  /// Runs an instance that has assumptions of data. Nothing: they do not hold, and the call has had no
  /// effect.
  std::optional<std::vector<at::Tensor>> call_on_assumptions(const Call& call, const Match& match);
  void note_broken_assumption(const Call& call, const Match& match, const std::string& reason);
  std::optional<Match> find_or_compile(const Call& call);

  // --- A call that no version serves; capture_mutex must be held.
  struct TooManyVersions {};
  /// The outcome of running the function over fakes: a version serves the call after all, a version is to be
  /// made, or the call runs eagerly.
  using ColdCall = std::variant<Match, Recorded, TooManyVersions>;
  ColdCall record(const Call& call);
  /// Makes the version for a recorded call. Adds nothing when `unchanged` returns false, because the
  /// arguments are no longer what was captured.
  std::optional<Match> make_version(const Call& call, Recorded recorded,
                                    const std::function<bool()>& unchanged = {});
  /// Returns a version for calls that run eagerly or in parts. `met`: captured tensors that an attempt to
  /// capture the function has met.
  std::shared_ptr<Version> uncompiled_version(const Call& call, std::vector<at::Tensor> met);
  /// For a function that kept tensors while it was captured. The capture counts as its run for this call, and
  /// the captured graph computes the results; the function is not run again. Returns nothing when that fails,
  /// with recorded.eager_reason set.
  std::optional<Match> serve_once(const Call& call, Recorded& recorded);
  void count_kept(const Call& call, const Recorded& recorded);

  // --- The same with Compile::Background (function_background.cpp); these lock capture_mutex.
  ColdCall record_for_later(const Call& call);
  /// Captures the call and submits a job that compiles it for later calls.
  std::optional<Match> compile_in_background(const Call& call);

  // --- The versions, and reports on them (function_versions.cpp).
  std::optional<Match> reuse(const Call& call, Recorded& recorded);
  std::optional<Match> reuse_by_forward(const std::shared_ptr<Version>& version, const Call& call,
                                        Recorded& recorded);
  std::optional<Match> add_instance(const std::shared_ptr<Version>& version, compiler::InstancePtr instance,
                                    const Call& call, bool by_forward = false);
  std::optional<Match> confirm(const Call& call, Recorded& recorded);
  std::string recapture_reason(const Call& call);
  /// Drops versions that can never match again and, where too many are left, the least recently used one;
  /// `reason` gets that. Returns false where none is dropped because the options say so.
  bool make_room(std::string& reason);
  void add(std::shared_ptr<Version> version, const std::string& reason, const std::string& eager_reason);
  std::shared_ptr<const Version> newest() const;  ///< null when none was compiled
  void give_up(const std::string& reason);
  void run_eagerly_at_exit();
  std::string eager_reason_of(const Error& error) const;
  bool may_run_uncompiled() const { return options.unsupported != Unsupported::Error; }
  void keep_fixed_sizes(const std::vector<std::string>& reasons);
  void check_recapture(const compiler::Instance& instance, const Call& call);

  compiler::CaptureSettings settings() const { return {options, effects, lowering}; }
};

}  // namespace antegrad::detail
