#pragma once
#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/edge.h>

#include <unordered_set>
#include <vector>

#include "capture/recorder.h"

namespace antegrad::capture {

/// A tensor through which gradients come into a captured function from outside: a result with a history of
/// its own, or an input that was written where autograd sees it.
struct GradRoot {
  at::Tensor tensor;
  ir::ValueId value;             ///< of the tensor, in the trace
  int32_t input = -1;            ///< the user input that it is
  int32_t outsider = -1;         ///< the lifted tensor that it is
  bool has_own_history = false;  ///< a view whose history is not that of a view (custom functions)
};

/// Where gradients leave a captured function: the places of its inputs in autograd's graph.
struct GradTarget {
  int32_t input = -1;     ///< a user input, or …
  int32_t outsider = -1;  ///< … a lifted tensor
  torch::autograd::Edge edge;
};

/// Makes `fake` what `real` is to autograd: a leaf, or a tensor with a history (which ends there).
void copy_autograd_state(const at::Tensor& real, at::Tensor& fake);
/// Makes a tensor one that is no leaf.
void give_history(at::Tensor& tensor);
/// Its place in autograd's graph before the function runs; not valid when it needs no gradient.
torch::autograd::Edge edge_of_input(const at::Tensor& fake);

/// Whether the last op that autograd saw write to the tensor came after the edge was taken.
bool history_changed(const at::Tensor& tensor, const torch::autograd::Edge& before);

std::vector<GradRoot> find_roots(Recorder& recorder, const std::vector<at::Tensor>& inputs,
                                 const std::vector<torch::autograd::Edge>& input_edges,
                                 const std::vector<at::Tensor>& outputs);
/// An input that came to require a gradient inside is one of them.
std::vector<GradTarget> find_targets(Recorder& recorder, const std::vector<at::Tensor>& inputs,
                                     const std::vector<torch::autograd::Edge>& input_edges);
/// Which roots autograd's graph leads from, for each of its nodes.
class Reached {
 public:
  explicit Reached(const std::vector<GradRoot>& roots);
  bool from(size_t root, const torch::autograd::Node* node) const;
  uint64_t bits(const torch::autograd::Node* node) const;  ///< as in ir::Provenance

 private:
  std::vector<std::unordered_set<const torch::autograd::Node*>> nodes_;  ///< per root
};

/// Runs autograd's engine over the recorded function: the gradient of each target, undefined where there is
/// none. Nothing outside notices: hooks of lifted tensors do not run, histories of lifted tensors are not
/// entered.
std::vector<at::Tensor> run_backward(Recorder& recorder, const std::vector<GradRoot>& roots,
                                     const std::vector<at::Tensor>& tangents,
                                     const std::vector<GradTarget>& targets, bool create_graph);

/// When a backward pass throws, the engine keeps what was still to be done, tensors included, until this
/// thread's next backward pass. This is one.
void clear_engine();

/// An in-place op that saves what it writes to makes a cycle of a tensor and its history, in eager programs
/// too. Lets go of everything that histories of the capture's tensors save.
void release_histories(const Recorder& recorder);

}  // namespace antegrad::capture
