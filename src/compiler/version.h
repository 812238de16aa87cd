#pragma once
#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "antegrad/function.h"
#include "compiler/captured.h"
#include "compiler/template.h"
#include "compiler/watch.h"
#include "ir/graph.h"
#include "runtime/calling.h"
#include "runtime/guards.h"
#include "symbolic/shape_guard.h"

namespace antegrad::compiler {

using Inputs = c10::SmallVector<at::Tensor, 16>;

/// A captured function at fixed sizes, ready to be called.
struct Instance {
  c10::SmallVector<int64_t, 4> symbols;
  std::unique_ptr<runtime::Caller> caller;
  std::shared_ptr<const void> pattern;
  bool grad_mode_after = false;  ///< what the function leaves behind
  std::vector<int64_t> offsets;  ///< storage offsets of all inputs when captured
  bool check_aliasing = false;
  std::string traced_text;                ///< only with Options::check_recapture
  mutable std::atomic<uint64_t> used{0};  ///< the number of the last call that used it
};
using InstancePtr = std::shared_ptr<const Instance>;

/// One captured form of a function: what must hold for it to be used, and how to run it. Its code is made
/// once; each set of sizes that its guards allow has an instance, added when a capture at those sizes has
/// given the same program. add() is the caller's to synchronize.
class Version {
 public:
  /// `shapes` and `graph`: as Generalized has them; `cache`: of the graph. The version itself holds captured
  /// tensors weakly: `captured` has to live until the first run.
  Version(const CaptureSettings& settings, const Leaves& leaves, const Captured& captured,
          const symbolic::Shapes& shapes, ir::Graph graph, FunctionCache cache);
  /// Stands for calls that run eagerly because capturing them threw; `met`: what it had read by then.
  Version(const Options& options, const Leaves& leaves, const std::vector<at::Tensor>& met = {});
  /// Stands for calls that throw this.
  Version(const Options& options, const Leaves& leaves, std::exception_ptr refusal);

  /// What serves the sizes of this call. Null: the function does something else at them, and `why` says what.
  InstancePtr make_instance(const CaptureSettings& settings, const Leaves& leaves, const Captured& captured,
                            const detail::KeepRun& keep, std::string& why) const;
  /// Some watched module has.
  bool lost_owner() const { return modules_ != nullptr && modules_->lost_owner(nullptr); }
  /// Where nothing but the number of owners of watched modules has changed, and a capture for this call gave
  /// the same program over the same tensors: it serves the call after all.
  bool confirm(const Options& options, const Leaves& leaves, const runtime::Ambient& ambient,
               const Captured& captured);
  /// Throws Error(GraphChanged) when in calls like this one the function used tensors of a watched module
  /// that has since lost an owner, and uses none of them now: it is another module that would have to be
  /// watched.
  void check_not_replaced(const Options& options, const Leaves& leaves, const runtime::Ambient& ambient,
                          const capture::Trace& trace) const;
  /// `most`: so many are kept; the one not used for the longest time makes room.
  void add(InstancePtr instance, int most);

  /// Whether it may serve this call. When it may, `inputs` are the tensors to call `instance` with.
  bool matches(const Leaves& leaves, const runtime::Ambient& ambient, Inputs& inputs,
               InstancePtr& instance) const;
  /// Whether it may serve this call once it has an instance for it.
  bool allows(const Leaves& leaves, const runtime::Ambient& ambient) const;
  /// Why it may not, for people.
  std::string mismatch(const Leaves& leaves, const runtime::Ambient& ambient) const;
  bool dead() const;  ///< a lifted tensor is gone: it can never match again

  /// The shapes that it was captured for, where nothing but shapes differs from this call; else nothing.
  std::optional<symbolic::Call> shapes_if_like(const Leaves& leaves, const runtime::Ambient& ambient) const;

  void throw_if_refused() const {
    if (refusal_) std::rethrow_exception(refusal_);
  }
  bool is_eager() const { return template_ == nullptr; }
  bool is_dynamic() const { return shape_guard_.has_value(); }
  size_t instances() const { return instances_.size(); }
  const Template& compiled() const { return *template_; }
  InstancePtr newest_instance() const { return newest_; }
  std::string guards_text() const;
  const std::map<std::string, uint64_t>& shape_fallbacks() const { return shape_fallbacks_; }

 private:
  using Symbols = c10::SmallVector<int64_t, 4>;
  struct SymbolsHash {
    size_t operator()(const Symbols& symbols) const;
  };
  struct Lifted {
    c10::weak_intrusive_ptr<c10::TensorImpl> tensor;
    runtime::TensorGuard guard;
  };
  struct Base {
    SharedBase shared;
    runtime::TensorGuard guard;
  };

  bool guards_hold(const Leaves& leaves, const runtime::Ambient& ambient, Symbols& symbols) const;
  bool inputs_hold(const Leaves& leaves, const runtime::Ambient& ambient, Symbols& symbols) const;
  bool shapes_hold(const Leaves& leaves, Symbols& symbols) const;
  InstancePtr find_instance(const Symbols& symbols) const;
  bool same_key(const Leaves& leaves) const;
  void ignore_unread_grads(const Leaves& leaves, const capture::Trace& traced);
  bool lifts_same(const capture::Trace& trace) const;
  bool add_bases(Inputs& inputs, const std::vector<int64_t>& offsets) const;
  std::string inputs_mismatch(const Leaves& leaves) const;
  std::string lifted_mismatch() const;

  c10::SmallVector<int64_t, 8> key_;
  runtime::Ambient ambient_;
  std::vector<runtime::TensorGuard> guards_;
  std::optional<symbolic::ShapeGuard> shape_guard_;  ///< nothing: the sizes are in `guards_`
  std::vector<Lifted> lifted_;
  std::vector<Base> bases_;
  std::unique_ptr<ModuleState> modules_;
  std::shared_ptr<const Template> template_;
  std::shared_ptr<detail::Function> gradients_;  ///< derivatives of higher order, of all instances
  std::unordered_map<Symbols, InstancePtr, SymbolsHash> instances_;
  InstancePtr newest_;
  mutable std::atomic<uint64_t> clock_{0};
  std::map<std::string, uint64_t> shape_fallbacks_;
  std::exception_ptr refusal_;
};

/// The shapes of a call.
symbolic::Call call_of(c10::ArrayRef<at::Tensor> tensors);

/// The text of the graph that capturing the function now gives.
std::string traced_text_now(const Options& options, const Leaves& leaves, const detail::RunOnTensors& run);

}  // namespace antegrad::compiler
