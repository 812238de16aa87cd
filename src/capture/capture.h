#pragma once
#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "capture/history_shape.h"
#include "capture/infer.h"
#include "ir/graph.h"

namespace antegrad::capture {

/// The state of a graph input when the function returned, compared with its state at the call.
struct InputEnd {
  ir::ValueId value;           ///< not the input's own value when its shape or storage was changed in place
  uint32_t version_bumps = 0;  ///< by in-place ops on the tensor or on its views
  bool required_grad = false;  ///< requires_grad at the call
  bool requires_grad = false;
  bool history_changed = false;  ///< autograd saw an in-place op on it
  bool detached = false;         ///< its history was taken off by detach_()
  bool retains_grad = false;     ///< by retain_grad() inside the function
  bool operator==(const InputEnd&) const = default;
};

/// The memory of a graph input, as it is at the call.
struct InputMemory {
  int32_t storage = -1;  ///< equal for inputs on one storage; -1 for undefined, duplicate and view inputs
  int64_t bytes = 0;     ///< size of the storage; 0 where `storage` is -1
  int32_t bits = 0;      ///< lazy bits: 1 conjugate, 2 negative, 3 both
  bool operator==(const InputMemory&) const = default;
};

/// A graph input, as it is at the call and as the function leaves it.
struct TracedInput {
  InputMemory memory;
  InputEnd end;
  bool operator==(const TracedInput&) const = default;
};

struct OutputEnd {
  ir::ValueId value;       ///< invalid for an undefined tensor
  int same_as_input = -1;  ///< the graph input that is the very same tensor object, or -1
  uint32_t version = 0;
  bool requires_grad = false;
  bool retains_grad = false;  ///< by retain_grad() inside the function
  bool operator==(const OutputEnd&) const = default;
};

/// A gradient that comes in from outside: a graph input of role Tangent.
struct TangentEnd {
  ir::ValueId value;
  ir::ValueId of;                ///< the traced tensor whose gradient it is
  int32_t input = -1;            ///< the graph input that `of` is when the call returns, or -1
  bool has_own_history = false;  ///< `of` is a view whose history is its own, not that of its base
  /// What autograd threw on its way through this tensor's history. It is kept for the caller of backward():
  /// the forward pass is valid.
  std::exception_ptr error;
};

/// A gradient that the backward pass computes.
struct GradientEnd {
  int32_t input = 0;  ///< the graph input that it is the gradient of
  ir::ValueId value;
  std::vector<bool> reached_by;  ///< per tangent: autograd's graph leads from there to the input
  std::vector<bool> fails_for;   ///< per tangent: autograd throws on the way
};

/// A real tensor that became a graph input. The trace keeps it alive; whatever outlives the trace holds it
/// weakly.
struct LiftedTensor {
  at::Tensor tensor;
  bool late = false;        ///< only the backward pass uses it, as it is then, not as it was at the call
  at::Generator generator;  ///< the generator that the tensor stands for, if it does (aten/generators.h)
  at::Tensor state;         ///< of that generator when the function first passed it to an op
};

/// An input that is captured as a view of another input, so that autograd treats it as one.
struct ViewInput {
  int32_t input = 0;
  int32_t base = 0;   ///< another input
  ir::ValueId value;  ///< set by capture(): its value in the trace
};

/// An output that shares memory with a tensor that the function has stored (kept.h).
struct KeptOutput {
  int32_t output = 0;
  at::Tensor kept;
  bool same = false;   ///< the output is the stored tensor itself
  int64_t offset = 0;  ///< storage offset of the output
};

/// The ops that a function ran, in order, followed by its backward pass. The graph inputs are the user's
/// (None for undefined, duplicate and view inputs), the lifted tensors, then the tangents.
struct Trace {
  ir::Graph graph;
  size_t user_inputs = 0;
  std::vector<LiftedTensor> lifted;
  std::vector<TracedInput> inputs;  ///< per graph input
  /// Per user input: an earlier one that is the same tensor object, or -1.
  std::vector<int32_t> duplicate_of;
  std::vector<OutputEnd> output_ends;
  std::vector<TangentEnd> tangents;
  std::vector<GradientEnd> gradients;
  std::string fingerprint;       ///< of the forward pass; empty without a backward pass (backward.h)
  bool differentiable = false;   ///< some result has a history; nodes from the first one with
                                 ///< Provenance::backward on compute gradients
  bool effects = true;           ///< as in CaptureOptions
  std::vector<ViewInput> views;  ///< as in CaptureOptions
  InferenceCounts counts;
  bool has_assumptions = false;  ///< the graph checks answers that were assumed of data (assumption.h)
  HistoryShape histories;        ///< of the results, if they were asked for or gradients are recorded
  size_t forward_values = 0;     ///< values of the forward pass come first: there are this many
  /// Returns the recorded forward pass, before constants are added; only with CaptureOptions::histories.
  std::function<ir::Graph()> forward;
  /// The function did what was expected, and nothing else: the graph has no nodes but constants.
  bool as_expected = false;
  size_t kept = 0;  ///< number of tensors that the function has stored; they are real by now (kept.h)
  std::vector<KeptOutput> kept_outputs;
};

/// Returns whether another graph input is on the storage of this one.
bool shares_storage(const Trace& trace, size_t input);

struct Kept;
class Follower;

using TensorFunction = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)>;

struct CaptureOptions {
  std::string name = "graph";
  std::vector<std::string> input_names;                          ///< may be shorter than the inputs
  std::function<std::string(const at::Tensor&)> name_of_lifted;  ///< names lifted tensors; they are numbered
                                                                 ///< where it is unset or returns ""
  bool gradients = false;              ///< record the backward pass too, where a result has a history
  bool histories = false;              ///< find the histories of results; `gradients` includes that
  bool effects = true;                 ///< false: effects of the function on its inputs are left out
  std::shared_ptr<Follower> follower;  ///< set if a forward pass like others is expected (expected.h)
  std::vector<ViewInput> views;
  /// Computes the contents of the tensors that the function has stored, for these inputs, and fills them in
  /// (kept.h). When unset, they are left without contents.
  std::function<void(const Kept&, const std::vector<at::Tensor>&)> fill_kept;
  bool may_keep = false;   ///< accept a function that stores tensors if all could be filled
  size_t* kept = nullptr;  ///< incremented by the number of stored tensors, also when the capture throws
  /// When the capture throws, receives the real tensors that the function had used by then.
  std::vector<at::Tensor>* met = nullptr;
};

/// Runs the function once over fakes of the inputs and records what it does. Nothing outside changes, also
/// when it throws, except variables that the function assigns to: tensors stored there get the contents that
/// a real run would give them. Exceptions of the function itself propagate unchanged.
Trace capture(const TensorFunction& function, const std::vector<at::Tensor>& inputs,
              const CaptureOptions& options = {});

}  // namespace antegrad::capture
