#pragma once
#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/edge.h>

#include <functional>
#include <unordered_set>
#include <vector>

#include "capture/recorder.h"

namespace antegrad::capture {

/// A tensor through which gradients enter a captured function: a result with a history of its own, or an
/// input that was written where autograd sees it.
struct GradRoot {
  at::Tensor tensor;
  ir::ValueId value;             ///< the tensor's value in the trace
  int32_t input = -1;            ///< the user input that it is, or -1
  int32_t outsider = -1;         ///< the lifted tensor that it is, or -1
  bool has_own_history = false;  ///< a view whose history is its own, not that of its base (custom functions)
};

/// Where gradients leave a captured function: the place of an input in autograd's graph.
struct GradTarget {
  int32_t input = -1;     ///< a user input, or …
  int32_t outsider = -1;  ///< … a lifted tensor
  torch::autograd::Edge edge;
};

/// Gives `fake` the autograd state of `real`: a leaf, or a tensor with a history (which ends there).
void copy_autograd_state(const at::Tensor& real, at::Tensor& fake);
/// Makes the tensor a non-leaf.
void give_history(at::Tensor& tensor);
/// Returns the tensor's gradient edge before the function runs; invalid when it requires no gradient.
torch::autograd::Edge edge_of_input(const at::Tensor& fake);

/// Returns whether autograd saw an in-place op on the tensor after the edge was taken.
bool history_changed(const at::Tensor& tensor, const torch::autograd::Edge& before);

std::vector<GradRoot> find_roots(Recorder& recorder, const std::vector<at::Tensor>& inputs,
                                 const std::vector<torch::autograd::Edge>& input_edges,
                                 const std::vector<at::Tensor>& outputs);
/// Inputs that came to require a gradient inside the function are targets, too.
std::vector<GradTarget> find_targets(Recorder& recorder, const std::vector<at::Tensor>& inputs,
                                     const std::vector<torch::autograd::Edge>& input_edges);
/// For each node of autograd's graph, the roots from which it is reachable.
class Reached {
 public:
  explicit Reached(const std::vector<GradRoot>& roots);
  bool from(size_t root, const torch::autograd::Node* node) const;
  uint64_t bits(const torch::autograd::Node* node) const;  ///< set of roots, as in ir::Provenance
  /// Returns whether some node is reached for which `predicate` holds.
  bool any(const std::function<bool(const torch::autograd::Node&)>& predicate) const;

 private:
  std::vector<std::unordered_set<const torch::autograd::Node*>> nodes_;  ///< per root
};

/// Runs autograd's engine over the recorded function. Returns the gradient of each target, undefined where
/// there is none. Has no effect outside: hooks of lifted tensors do not run, and their histories are not
/// entered.
std::vector<at::Tensor> run_backward(Recorder& recorder, const std::vector<GradRoot>& roots,
                                     const std::vector<at::Tensor>& tangents,
                                     const std::vector<GradTarget>& targets, bool create_graph);

/// Releases everything that histories of the capture's tensors have saved. An in-place op that saves the
/// tensor it writes makes a reference cycle of tensor and history, in eager programs too.
void release_histories(const Recorder& recorder);

}  // namespace antegrad::capture
