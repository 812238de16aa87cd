#pragma once
#include <ATen/core/Tensor.h>

#include <exception>
#include <string>
#include <vector>

#include "capture/gradients.h"
#include "capture/history_shape.h"
#include "capture/recorder.h"

namespace antegrad::capture {

/// The function's arguments during the capture.
struct Arguments {
  std::vector<at::Tensor> fakes;  ///< per argument; arguments that are the same tensor object share a fake
  std::vector<at::Tensor> own;    ///< per argument; undefined for duplicates and for views of other arguments
  std::vector<torch::autograd::Edge> edges;  ///< gradient edges of `own`, taken before the function runs
};

/// The recorded backward pass. Lifted tensors are identified by their outsider number until they become graph
/// inputs.
struct Backward {
  std::vector<GradRoot> roots;
  std::vector<at::Tensor> tangents;
  std::vector<GradTarget> targets;
  std::vector<ir::ValueId> gradients;         ///< per target; invalid where it has no gradient
  std::vector<std::vector<bool>> reached_by;  ///< per target, per root: autograd's graph leads from the root
                                              ///< to the target
  std::vector<std::vector<bool>> fails_for;   ///< per target, per root: autograd throws on the way
  std::vector<std::exception_ptr> errors;     ///< per root; null where autograd did not throw
  std::string fingerprint;                    ///< of the forward pass
  HistoryShape histories;
  size_t forward_values = 0;  ///< how many values the graph has before the backward pass is recorded
};

/// Returns the text of the first `nodes` nodes without value names, which tells captures of different
/// programs apart.
std::string fingerprint(const ir::Graph& graph, size_t nodes);

/// Finds roots, targets and histories of the recorded function, and records nothing. Without `effects`,
/// inputs that the function writes do not become roots.
Backward find_backward(const Arguments& arguments, const std::vector<at::Tensor>& outputs, bool effects,
                       Recorder& recorder);

/// Runs autograd's engine over the recorded function. Without `effects`, inputs that the function writes do
/// not become roots.
Backward record_backward(const Arguments& arguments, const std::vector<at::Tensor>& outputs, bool effects,
                         Recorder& recorder);

}  // namespace antegrad::capture
