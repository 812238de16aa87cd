#pragma once
#include <ATen/core/Tensor.h>

#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include "aot/signature/signature.h"
#include "partition/partition.h"
#include "runtime/executable.h"
#include "util/fork_mutex.h"

namespace antegrad::runtime {

/// Computes gradients that can be differentiated again.
class HigherOrder {
 public:
  virtual ~HigherOrder() = default;
  /// Returns one tensor per gradient of the signature. `primals`: the caller's inputs, undefined where no
  /// gradient depends on them.
  virtual std::vector<at::Tensor> gradients(const std::vector<at::Tensor>& primals,
                                            const std::vector<at::Tensor>& tangents) = 0;
};

/// The type of a tangent for which the graph was captured.
struct TangentType {
  explicit TangentType(const ir::TensorType& type);
  at::TensorOptions options;
  std::vector<int64_t> sizes, strides;
  std::vector<c10::SymInt> symbolic_sizes;  ///< `sizes`, as autograd nodes take them
};

/// What a backward pass needs besides its graph.
struct BackwardFacts {
  std::vector<int32_t> primals;               ///< the caller's inputs that gradients depend on
  std::vector<std::vector<bool>> reached_by;  ///< per gradient, per tangent: autograd's graph leads from the
                                              ///< tangent to the gradient
  std::vector<std::exception_ptr> errors;     ///< per tangent: what eager's backward() throws, or null
  std::vector<std::vector<bool>> fails_for;  ///< per gradient, per tangent: it throws on the way between them
  /// Per node of eager's graph that has saved tensors: the tangents that lead to it, as bits.
  std::vector<uint64_t> saving_nodes;
  std::shared_ptr<HigherOrder> higher_order;  ///< null when there are no higher-order derivatives
  std::vector<int32_t> late;                  ///< inputs that are read as they are when the pass runs
  std::string runs_once;       ///< an op that higher-order derivatives may not call again, or ""
  bool communicates = false;   ///< its gradients are sums over several processes
  int32_t rng_slot = -1;       ///< slot of the state of fused random ops, or -1
  bool draws_eagerly = false;  ///< some random op of the forward graph draws from LibTorch's generator
};

/// What a backward graph is specialised to: which gradients are wanted, then which tangents are defined.
using BackwardCase = c10::SmallVector<bool, 16>;
/// Returns the graph of one case. `reached_by`: as in BackwardFacts.
ir::Graph specialize(const ir::Graph& backward, const std::vector<std::vector<bool>>& reached_by,
                     const BackwardCase& which);
/// Makes on demand what a backward pass needs.
struct BackwardMaker {
  std::function<std::shared_ptr<const Executable>(const BackwardCase&)> code;
  std::vector<int64_t> symbols;                                    ///< sizes of these calls
  std::function<ir::Graph(const std::vector<int64_t>&)> graph_at;  ///< the partition's graph at other sizes
  std::function<const ir::Graph&()> graph;                         ///< the partition's graph over symbols
};

/// The backward half of a differentiable function, shared by all its calls. Thread-safe.
class Backward {
 public:
  Backward(const partition::Partition& partition, const aot::Signature& signature, BackwardFacts facts,
           BackwardMaker make);

  /// The slots that a call saves: those of saved inputs, then primals that are not among them.
  const std::vector<int32_t>& kept_slots() const { return kept_slots_; }
  size_t saved_slots() const { return saved_slots_; }  ///< how many of them, from the first, the graph reads
  const std::vector<int32_t>& saved_results() const { return saved_results_; }
  const std::vector<int32_t>& gradients() const { return gradients_; }
  const std::vector<std::pair<int32_t, int32_t>>& writes() const { return writes_; }
  const std::vector<TangentType>& tangent_types() const { return tangent_types_; }
  const BackwardFacts& facts() const { return facts_; }

  /// Compiles the case of all gradients and all tangents now instead of at the first run.
  void compile() const;
  using Flags = c10::ArrayRef<bool>;
  /// Throws what eager throws on its way from these tangents to the wanted gradients.
  void check(c10::ArrayRef<at::Tensor> tangents, Flags wanted) const;
  /// Tangents as bits, for passes through some of the results; at most 64.
  static uint64_t bits(c10::ArrayRef<at::Tensor> tangents);
  /// Returns the tangents for which eager throws after passes for `passed` have released their saved tensors.
  uint64_t spent_by(uint64_t passed) const;
  /// Per tangent, per saved input of the graph: whether its gradients are computed from the input.
  const std::vector<std::vector<bool>>& reads() const;
  /// Per saved input of the graph: its index among saved slots and, after them, saved results.
  const std::vector<size_t>& places() const { return place_of_input_; }
  /// `saved`: in the order of places(). Returns the gradients, then the new contents of written inputs.
  /// Gradients are undefined where they are not wanted, or where eager leaves them undefined.
  std::vector<at::Tensor> run(std::vector<at::Tensor> saved, std::vector<at::Tensor> tangents,
                              Flags wanted) const;

  /// Identifies the graph; "" when it cannot become part of another one.
  const std::string& identity() const;
  /// The sizes of these calls, where the graph is over symbols.
  const std::vector<int64_t>& symbols() const { return make_.symbols; }
  /// As run(), but into the capture of this thread: the ops become part of the captured graph. `symbols` may
  /// be other sizes than those of these calls.
  std::vector<at::Tensor> record(std::vector<at::Tensor> saved, const std::vector<at::Tensor>& tangents,
                                 Flags wanted, const std::vector<int64_t>& symbols) const;

 private:
  const Executable& executable(const BackwardCase& which) const;

  std::vector<int32_t> kept_slots_, saved_results_;
  size_t saved_slots_ = 0;
  std::vector<size_t> place_of_input_;  ///< see places()
  std::vector<int32_t> gradients_;
  std::vector<std::pair<int32_t, int32_t>> writes_;  ///< as in Signature::backward_writes
  std::vector<TangentType> tangent_types_;
  BackwardFacts facts_;
  BackwardMaker make_;
  mutable LongMutex make_mutex_{
      "compiling its backward pass"};  ///< one executable is made at a time; taken before `mutex_`
  mutable BriefSharedMutex mutex_;
  /// Entries are never removed.
  mutable std::vector<std::pair<BackwardCase, std::shared_ptr<const Executable>>> executables_;
  mutable std::once_flag reads_once_;
  mutable std::vector<std::vector<bool>> reads_;
  mutable std::once_flag identity_once_;
  mutable std::string identity_;
};

}  // namespace antegrad::runtime
