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
#include "compiler/code/forward_check.h"
#include "compiler/code/reach.h"
#include "compiler/code/template.h"
#include "compiler/function/call.h"
#include "compiler/function/version_guards.h"
#include "runtime/calling.h"
#include "util/result.h"

namespace antegrad::compiler {

/// A captured function at fixed sizes, ready to be called.
struct Instance {
  Symbols symbols;              ///< sizes and numbers that tell it from other instances
  std::vector<int64_t> values;  ///< of the template's symbols
  std::unique_ptr<runtime::Caller> caller;
  std::shared_ptr<const void> pattern;
  std::shared_ptr<const detail::CallStructure> structure;  ///< null for functions without one
  bool grad_mode_after = false;                            ///< the grad mode that the function leaves behind
  std::vector<int64_t> offsets;                            ///< storage offsets of all inputs at capture
  bool check_aliasing = false;
  std::vector<Reach> reach;               ///< what storages of inputs must have
  bool has_assumptions = false;           ///< as in capture::Trace
  bool may_draw = false;                  ///< from LibTorch's default generator
  std::string traced_text;                ///< only with Options::check_recapture
  mutable std::atomic<uint64_t> used{0};  ///< the value of the version's clock when it was last used
  mutable std::atomic<int> broken{0};     ///< calls since the last one in which the assumptions held
};
using InstancePtr = std::shared_ptr<const Instance>;

class Version;

/// What serves a call.
struct Match {
  explicit Match(std::shared_ptr<const Version> by) : version(std::move(by)) {}

  std::shared_ptr<const Version> version;
  InstancePtr instance;  ///< null when the call runs eagerly or is refused
  Inputs inputs;         ///< the tensors to call the instance with
  bool once = false;     ///< serves only this call, because the function has kept tensors
  std::vector<capture::KeptOutput> kept_outputs;  ///< as in capture::Trace
};

/// One captured form of a function: its guards and its code. The code is compiled once; each combination of
/// sizes that the guards allow has an instance, added after a capture at those sizes has given the same
/// program. The caller must synchronise add(), confirm() and watch_again().
class Version {
 public:
  /// A version with code. `gradients` computes higher-order derivatives and is null when there are none;
  /// `shape_fallbacks` as in Report.
  Version(VersionGuards guards, std::shared_ptr<const Template> code,
          std::shared_ptr<detail::Function> gradients, std::map<std::string, uint64_t> shape_fallbacks);
  /// A version whose calls run eagerly or, with a refusal, throw it.
  explicit Version(VersionGuards guards, std::exception_ptr refusal = nullptr);

  /// Makes the instance for the sizes of this call. Fails when the function does something else at them.
  Result<InstancePtr> make_instance(const CaptureSettings& settings, const Call& call,
                                    const Captured& captured);
  /// Whether the forward pass alone decides if it serves a call of these sizes.
  bool is_checked_by_forward(const Call& call) const;
  /// As ForwardCheck::follower_at(), for such a call.
  std::shared_ptr<capture::Follower> follower_for(const Call& call) const;
  /// Makes the instance for the sizes of this call from a capture of the forward pass. Returns null when a
  /// whole capture has to decide.
  InstancePtr make_instance(const Options& options, const Call& call, capture::Trace forward,
                            RunEnd end) const;
  /// Whether it has served calls like this one, and nothing but the use counts of watched modules may have
  /// changed since.
  bool may_be_confirmed(const Call& call) const;
  /// If so, and if the capture for this call is the same program over the same tensors, accepts the modules
  /// as they are now and returns true.
  bool confirm(const Options& options, const Call& call, const Captured& captured);
  /// Takes a new snapshot of the watched modules.
  void watch_again(const Options& options);
  /// Throws Error(GraphChanged) when in calls like this one the function used tensors of a watched module
  /// that has since lost an owner, and now uses none of them: the module was replaced by one that is not
  /// watched.
  void check_not_replaced(const Options& options, const Call& call, const capture::Trace& trace) const;
  /// Adds an instance. Of more than `most` instances, the least recently used ones are dropped.
  void add(InstancePtr instance, int most);
  /// Merges the graph of a capture with that of this version, which was captured with other numbers as
  /// arguments. `graph` is over the symbols of `shapes`. Fails when they differ in more than numbers.
  Result<NumberedGraph> merge_numbers(const ir::Graph& graph, const symbolic::Shapes& shapes,
                                      const Call& call) const;

  /// Whether it may serve this call once it has an instance for it.
  bool allows(const Call& call) const { return guards_.hold_ignoring_owners(call).has_value(); }
  /// Returns why it does not serve the call, for people: at least one reason.
  std::vector<std::string> mismatches(const Call& call) const;
  /// A lifted tensor or watched module no longer exists, so it can never match again.
  bool dead() const { return guards_.dead(); }

  /// Returns the shapes it was captured for when the call differs in nothing but shapes and numbers; else
  /// nothing.
  std::optional<symbolic::CallShapes> shapes_if_like(const Call& call) const;

  void throw_if_refused() const {
    if (refusal_) std::rethrow_exception(refusal_);
  }
  bool is_eager() const { return template_ == nullptr; }
  /// As may_pass_by(); false for versions without code.
  bool may_pass_by() const { return may_pass_by_; }
  /// Whether it has an instance per combination of sizes and numbers.
  bool is_dynamic() const { return guards_.shapes.has_value() || !guards_.free.empty(); }
  const VersionGuards& guards() const { return guards_; }
  /// The values of the template's symbols in the call that it was made for.
  const std::vector<int64_t>& first_symbols() const { return first_symbols_; }
  size_t instances() const { return instances_.size(); }
  const Template& compiled() const { return *template_; }
  InstancePtr newest_instance() const { return newest_; }
  std::vector<InstancePtr> all_instances() const;  ///< in the order of their symbols
  /// Computes higher-order derivatives of all instances; null when there are none.
  const std::shared_ptr<detail::Function>& gradients() const { return gradients_; }
  /// Makes captured tensor number `k` another one, which the guard on it need not accept.
  void set_lifted(size_t k, const at::Tensor& tensor);
  std::string guards_text() const { return guards_.shapes ? guards_.shapes->to_string() : ""; }
  const std::map<std::string, uint64_t>& shape_fallbacks() const { return shape_fallbacks_; }

  /// The number of the call that it served last.
  mutable std::atomic<uint64_t> last_call{0};
  uint64_t made_for = 0;             ///< the number of the call that it was made for
  std::vector<std::string> regions;  ///< as in Report

 private:
  struct SymbolsHash {
    size_t operator()(const Symbols& symbols) const;
  };
  friend std::optional<Match> match(std::span<const std::shared_ptr<Version>> versions, const Call& call);
  friend std::optional<Match> match_new_version(const std::shared_ptr<Version>& version, const Call& call);
  /// Sets the instance and the inputs for a call whose guards hold. Returns false when it does not serve the
  /// call.
  bool gather(const Call& call, const Symbols& symbols, Match& match) const;
  std::vector<int64_t> sizes_in(const Symbols& symbols) const;  ///< without the numbers
  InstancePtr find_instance(const Symbols& symbols) const;
  std::string instance_mismatch(const Leaves& leaves) const;
  std::shared_ptr<runtime::HigherOrder> higher_order(const Options& options, const Call& call,
                                                     const capture::Trace& trace,
                                                     std::vector<int32_t> targets) const;

  VersionGuards guards_;
  std::shared_ptr<const Template> template_;  ///< null for an eager version
  bool may_pass_by_ = false;
  std::shared_ptr<detail::Function> gradients_;  ///< higher-order derivatives of all instances
  std::unordered_map<Symbols, InstancePtr, SymbolsHash> instances_;
  InstancePtr newest_;
  std::vector<int64_t> first_symbols_;
  std::optional<ForwardCheck> forward_check_;  ///< set if there is an instance per combination of sizes
  mutable std::atomic<uint64_t> clock_{0};
  std::map<std::string, uint64_t> shape_fallbacks_;
  std::exception_ptr refusal_;
};

/// Whether calls have to check which inputs share memory.
bool relies_on_aliasing(const aot::Signature& signature);

/// Returns the match of the first version that serves the call.
std::optional<Match> match(std::span<const std::shared_ptr<Version>> versions, const Call& call);
/// Returns the match of a version that was just made or confirmed for the call. Ignores use counts of watched
/// modules, which other threads may be changing right now.
std::optional<Match> match_new_version(const std::shared_ptr<Version>& version, const Call& call);

}  // namespace antegrad::compiler
