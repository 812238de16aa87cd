#pragma once
#include <ATen/core/Tensor.h>

#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "capture/infer.h"
#include "ir/graph.h"

namespace antegrad::capture {

/// The state of a graph input when the function returned, against its state at the call.
struct InputEnd {
  ir::ValueId value;  ///< another one than the input's own: its shape or storage was changed in place
  uint32_t version_bumps = 0;  ///< by in-place ops on it or on its views
  bool required_grad = false;  ///< at the call
  bool requires_grad = false;
  bool history_changed = false;  ///< autograd saw an in-place op on it
};

/// The memory of a graph input, as it is at the call.
struct InputMemory {
  int32_t storage = -1;  ///< inputs of equal numbers are on one storage; -1: undefined or duplicate
  int64_t bytes = 0;     ///< of the storage; 0: undefined or duplicate
  int32_t bits = 0;      ///< 1 conjugated, 2 negated when read, 3 both
};

/// A graph input, as it is at the call and as the function leaves it.
struct TracedInput {
  InputMemory memory;
  InputEnd end;
};

struct OutputEnd {
  ir::ValueId value;       ///< not valid: an undefined tensor
  int same_as_input = -1;  ///< the very tensor object of that graph input
  uint32_t version = 0;
  bool requires_grad = false;
};

/// A gradient that comes in from outside: a graph input of role Tangent.
struct TangentEnd {
  ir::ValueId value;
  ir::ValueId of;                ///< the traced tensor that it is the gradient of
  int32_t input = -1;            ///< that tensor is this graph input, as it is after the call
  bool has_own_history = false;  ///< it is a view, but its history is not that of a view (custom functions)
  /// What autograd threw when it was led through this tensor's history. It is for whoever calls backward():
  /// the forward pass is fine.
  std::exception_ptr error;
};

/// A gradient that goes out.
struct GradientEnd {
  int32_t input = 0;  ///< of this graph input
  ir::ValueId value;
  std::vector<bool> reached_by;  ///< per tangent: autograd's graph leads from there to the input
  std::vector<bool> fails_for;   ///< per tangent: autograd throws on the way
};

/// A real tensor that became a graph input. Alive as long as the trace; what outlives the trace holds it
/// weakly.
struct LiftedTensor {
  at::Tensor tensor;
  bool late = false;  ///< only the backward pass uses it: as it is then, not as it was at the call
};

/// An input that is captured as a view of another one, which it is to autograd.
struct ViewInput {
  int32_t input = 0;
  int32_t base = 0;   ///< another input
  ir::ValueId value;  ///< set by capture(): the view in the trace
};

/// An output on memory of a tensor that the function has kept (kept.h).
struct KeptOutput {
  int32_t output = 0;
  at::Tensor kept;
  bool same = false;   ///< the very same tensor
  int64_t offset = 0;  ///< of the output, in the memory
};

/// What a function did, op by op, and then its backward pass. Graph inputs: the user's (undefined tensors
/// included, as none), the lifted ones, the tangents.
struct Trace {
  ir::Graph graph;
  size_t user_inputs = 0;
  std::vector<LiftedTensor> lifted;
  std::vector<TracedInput> inputs;  ///< as the graph's
  std::vector<int32_t>
      duplicate_of;  ///< per user input: an earlier one that is the same tensor object, or -1
  std::vector<OutputEnd> output_ends;
  std::vector<TangentEnd> tangents;
  std::vector<GradientEnd> gradients;
  std::string fingerprint;       ///< of the forward pass, where there is a backward pass (backward.h)
  bool differentiable = false;   ///< some result has a history; nodes from the first one with
                                 ///< Provenance::backward on compute gradients
  bool effects = true;           ///< as in CaptureOptions
  std::vector<ViewInput> views;  ///< likewise
  InferenceCounts counts;
  bool has_assumptions =
      false;        ///< a check in the graph throws where it does not serve the call (assumption.h)
  size_t kept = 0;  ///< so many of its tensors the function has kept; they are real by now (kept.h)
  std::vector<KeptOutput> kept_outputs;
};

/// Whether another graph input is on the storage of this one.
bool shares_storage(const Trace& trace, size_t input);

struct Kept;

using TensorFunction = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)>;

struct CaptureOptions {
  std::string name = "graph";
  std::vector<std::string> input_names;                          ///< may be shorter than the inputs
  std::function<std::string(const at::Tensor&)> name_of_lifted;  ///< "" or unset: numbered
  bool gradients = false;  ///< record the backward pass too, where a result has a history
  bool effects = true;     ///< false: what the function does to its inputs is to be left out
  std::vector<ViewInput> views;
  /// Computes what the function has kept of its tensors, for these inputs, and fills it in (kept.h). Unset:
  /// they are left without contents.
  std::function<void(const Kept&, const std::vector<at::Tensor>&)> fill_kept;
  bool may_keep = false;   ///< a function that keeps some, all of which could be filled, is not refused
  size_t* kept = nullptr;  ///< is raised by how many there are, also when the capture throws
  std::vector<at::Tensor>* met =
      nullptr;  ///< when it throws: real tensors that the function had used by then
};

/// Runs the function once over fakes of the inputs and writes down what it does. Nothing outside changes,
/// also when it throws, but for variables that the function assigns to: tensors that it stored there have the
/// contents that a run would give them. Exceptions of the function itself pass through untouched.
Trace capture(const TensorFunction& function, const std::vector<at::Tensor>& inputs,
              const CaptureOptions& options = {});

}  // namespace antegrad::capture
