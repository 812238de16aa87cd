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
  std::optional<compiler::Driver> driver;  ///< used with capture_mutex taken
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

  /// What is traced while it lives belongs to the next version.
  struct Making {
    explicit Making(const Impl& of)
        : in({of.trace_id, static_cast<int64_t>(of.report.captures) + 1, ""}),
          span("make a version", of.options.name) {}
    const trace::In in;
    const trace::Span span;
  };

  // --- The path of a call (function.cpp). Nothing where a match is expected: the call is to run eagerly.
  /// What call() and consume() have in common.
  std::optional<Match> serve(const Call& call);
  std::optional<Match> find(const Call& call) const;
  /// Runs an instance that has assumptions of data. Nothing: they do not hold, and the call has had no
  /// effect.
  std::optional<std::vector<at::Tensor>> call_on_assumptions(const Call& call, const Match& match);
  void note_broken_assumption(const Call& call, const Match& match, const std::string& reason);
  std::optional<Match> find_or_compile(const Call& call);

  // --- A call that no version serves; with capture_mutex taken.
  struct TooManyVersions {};
  /// What running the function over fakes leads to: a version serves the call after all, or is to be made, or
  /// the call is to run eagerly.
  using ColdCall = std::variant<Match, Recorded, TooManyVersions>;
  ColdCall record(const Call& call);
  /// Makes the version for a recorded call. Nothing is added when `unchanged` says that the arguments are no
  /// longer what was captured.
  std::optional<Match> make_version(const Call& call, Recorded recorded,
                                    const std::function<bool()>& unchanged = {});
  /// The function has kept tensors while it was captured: that was a run of it, which is completed by what
  /// was captured. It is not run again for this call. Nothing: recorded.eager_reason says why.
  std::optional<Match> make_once(const Call& call, Recorded& recorded);
  void count_kept(const Call& call, const Recorded& recorded);

  // --- The same with Compile::Background (function_background.cpp); these take capture_mutex.
  ColdCall record_for_later(const Call& call);
  /// Sees to it that later calls like this one find code.
  std::optional<Match> compile_in_background(const Call& call);

  // --- The versions, and what is reported of them (function_versions.cpp).
  std::optional<Match> reuse(const Call& call, Recorded& recorded);
  std::optional<Match> confirm(const Call& call, Recorded& recorded);
  std::string recapture_reason(const Call& call);
  bool has_room();
  void add(std::shared_ptr<Version> version, const std::string& reason, const std::string& eager_reason);
  std::shared_ptr<const Version> newest() const;  ///< null: none was captured
  void give_up(const std::string& reason);
  void run_eagerly_at_exit();
  std::string eager_reason_of(const Error& error) const;
  void keep_fixed_sizes(const std::vector<std::string>& reasons);
  void check_recapture(const compiler::Instance& instance, const Call& call);

  compiler::CaptureSettings settings() const { return {options, effects, lowering}; }
};

}  // namespace antegrad::detail
