#pragma once
#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "antegrad/function.h"
#include "compiler/code/captured.h"
#include "compiler/code/template.h"
#include "compiler/function/call.h"
#include "compiler/function/version_guards.h"
#include "runtime/calling.h"
#include "util/result.h"

namespace antegrad::compiler {

/// A captured function at fixed sizes, ready to be called.
struct Instance {
  Symbols symbols;
  std::unique_ptr<runtime::Caller> caller;
  std::shared_ptr<const void> pattern;
  bool grad_mode_after = false;  ///< what the function leaves behind
  std::vector<int64_t> offsets;  ///< storage offsets of all inputs when captured
  bool check_aliasing = false;
  bool has_assumptions = false;           ///< as in capture::Trace
  std::string traced_text;                ///< only with Options::check_recapture
  mutable std::atomic<uint64_t> used{0};  ///< the number of the last call that used it
  mutable std::atomic<int> broken{0};     ///< calls since the last one in which the assumptions held
};
using InstancePtr = std::shared_ptr<const Instance>;

class Version;

/// What serves a call.
struct Match {
  explicit Match(std::shared_ptr<const Version> by) : version(std::move(by)) {}

  std::shared_ptr<const Version> version;
  InstancePtr instance;                           ///< null: the call is to run eagerly, or is refused
  Inputs inputs;                                  ///< the tensors to call the instance with
  bool once = false;                              ///< for this call only: the function has kept tensors
  std::vector<capture::KeptOutput> kept_outputs;  ///< as in capture::Trace
};

/// One captured form of a function: what must hold for it to be used, and how to run it. Its code is made
/// once; each set of sizes that its guards allow has an instance, added when a capture at those sizes has
/// given the same program. add(), confirm() and watch_again() are the caller's to synchronize.
class Version {
 public:
  /// Has code. `gradients`: derivatives of higher order, null where there are none; `shape_fallbacks`: as in
  /// Report.
  Version(VersionGuards guards, std::shared_ptr<const Template> code,
          std::shared_ptr<detail::Function> gradients, std::map<std::string, uint64_t> shape_fallbacks);
  /// Stands for calls that run eagerly or, with a refusal, throw that.
  explicit Version(VersionGuards guards, std::exception_ptr refusal = nullptr);

  /// What serves the sizes of this call. Fails where the function does something else at them.
  Result<InstancePtr> make_instance(const CaptureSettings& settings, const Call& call,
                                    const Captured& captured) const;
  /// Whether it has served calls like this one, and nothing but the number of owners of watched modules can
  /// have changed since.
  bool may_be_confirmed(const Call& call) const;
  /// Where that is so, and a capture for this call gave the same program over the same tensors: it serves the
  /// call after all.
  bool confirm(const Options& options, const Call& call, const Captured& captured);
  /// Watches the modules as they are now.
  void watch_again(const Options& options);
  /// Throws Error(GraphChanged) when in calls like this one the function used tensors of a watched module
  /// that has since lost an owner, and uses none of them now: it is another module that would have to be
  /// watched.
  void check_not_replaced(const Options& options, const Call& call, const capture::Trace& trace) const;
  /// `most`: so many are kept; the one not used for the longest time makes room.
  void add(InstancePtr instance, int most);

  /// Whether it may serve this call once it has an instance for it.
  bool allows(const Call& call) const { return guards_.contents_hold(call).has_value(); }
  /// Why it may not, for people.
  std::string mismatch(const Call& call) const;
  bool dead() const { return guards_.dead(); }  ///< a lifted tensor is gone: it can never match again

  /// The shapes that it was captured for, where nothing but shapes differs from this call; else nothing.
  std::optional<symbolic::CallShapes> shapes_if_like(const Call& call) const;

  void throw_if_refused() const {
    if (refusal_) std::rethrow_exception(refusal_);
  }
  bool is_eager() const { return template_ == nullptr; }
  bool is_dynamic() const { return guards_.shapes.has_value(); }
  size_t instances() const { return instances_.size(); }
  const Template& compiled() const { return *template_; }
  InstancePtr newest_instance() const { return newest_; }
  std::string guards_text() const { return guards_.shapes ? guards_.shapes->to_string() : ""; }
  const std::map<std::string, uint64_t>& shape_fallbacks() const { return shape_fallbacks_; }

 private:
  struct SymbolsHash {
    size_t operator()(const Symbols& symbols) const;
  };
  friend std::optional<Match> match(std::span<const std::shared_ptr<Version>> versions, const Call& call);
  friend std::optional<Match> match_made(const std::shared_ptr<Version>& version, const Call& call);
  /// The instance and the inputs for a call that the guards hold for; false: it does not serve the call.
  bool gather(const Call& call, const Symbols& symbols, Match& match) const;
  InstancePtr find_instance(const Symbols& symbols) const;
  std::string instance_mismatch(const Leaves& leaves) const;

  VersionGuards guards_;
  std::shared_ptr<const Template> template_;     ///< null: is_eager()
  std::shared_ptr<detail::Function> gradients_;  ///< derivatives of higher order, of all instances
  std::unordered_map<Symbols, InstancePtr, SymbolsHash> instances_;
  InstancePtr newest_;
  mutable std::atomic<uint64_t> clock_{0};
  std::map<std::string, uint64_t> shape_fallbacks_;
  std::exception_ptr refusal_;
};

/// What the first of these versions that serves the call serves it with.
std::optional<Match> match(std::span<const std::shared_ptr<Version>> versions, const Call& call);
/// What a version serves the call with that it was just made or confirmed for. The owners of watched modules
/// are not counted: other threads come to own them and let go of them right now.
std::optional<Match> match_made(const std::shared_ptr<Version>& version, const Call& call);

}  // namespace antegrad::compiler
