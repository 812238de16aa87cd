#pragma once
#include <ATen/core/Tensor.h>

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
  bool has_grad_fn = false;  ///< autograd saw an in-place op on it
};

struct OutputEnd {
  ir::ValueId value;       ///< not valid: an undefined tensor
  int same_as_input = -1;  ///< the very tensor object of that graph input
  uint32_t version = 0;
  bool requires_grad = false;
  bool has_grad_fn = false;
};

/// A real tensor that became a graph input. Alive as long as the trace; what outlives the trace holds it
/// weakly.
struct LiftedTensor {
  at::Tensor tensor;
};

/// What a function did, op by op. Graph inputs: the user's (undefined tensors included, as none), then the
/// lifted ones.
struct Trace {
  ir::Graph graph;
  size_t user_inputs = 0;
  std::vector<LiftedTensor> lifted;
  std::vector<InputEnd> input_ends;  ///< per graph input
  std::vector<int32_t>
      duplicate_of;  ///< per user input: an earlier one that is the same tensor object, or -1
  std::vector<int32_t>
      input_storage;  ///< per graph input: equal numbers mean one storage; -1: undefined or duplicate
  std::vector<OutputEnd> output_ends;
  std::vector<int64_t> input_bytes;  ///< per graph input: the size of its storage; 0: undefined or duplicate
  std::vector<int32_t> input_bits;   ///< per graph input: 1 conjugated, 2 negated when read, 3 both
  InferenceCounts counts;
};

using TensorFunction = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)>;

struct CaptureOptions {
  std::string name = "graph";
  std::vector<std::string> input_names;                          ///< may be shorter than the inputs
  std::function<std::string(const at::Tensor&)> name_of_lifted;  ///< "" or unset: numbered
};

/// Runs the function once over fakes of the inputs and writes down what it does. Nothing outside changes,
/// also when it throws. Exceptions of the function itself pass through untouched.
Trace capture(const TensorFunction& function, const std::vector<at::Tensor>& inputs,
              const CaptureOptions& options = {});

}  // namespace antegrad::capture
