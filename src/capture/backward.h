#pragma once
#include <ATen/core/Tensor.h>

#include <exception>
#include <string>
#include <vector>

#include "capture/gradients.h"
#include "capture/recorder.h"

namespace antegrad::capture {

/// The function's arguments during the capture.
struct Arguments {
  std::vector<at::Tensor> fakes;             ///< one and the same for arguments that are
  std::vector<at::Tensor> own;               ///< each fake once
  std::vector<torch::autograd::Edge> edges;  ///< of `own`, before the function runs
};

/// The backward pass, as far as autograd's graph tells it. Lifted tensors are named by their number until
/// they have become graph inputs.
struct Backward {
  std::vector<GradRoot> roots;
  std::vector<at::Tensor> tangents;
  std::vector<GradTarget> targets;
  std::vector<ir::ValueId> gradients;         ///< per target; not valid: none
  std::vector<std::vector<bool>> reached_by;  ///< per target, per root
  std::vector<std::vector<bool>> fails_for;   ///< likewise
  std::vector<std::exception_ptr> errors;     ///< per root
  std::string fingerprint;                    ///< of the forward pass
};

/// Tells programs apart that do something else: the first `nodes` nodes, without names of values.
std::string fingerprint(const ir::Graph& graph, size_t nodes);

/// Lets autograd's engine run over what was recorded. Without `effects` inputs that the function writes get
/// no gradients from outside.
Backward record_backward(const Arguments& arguments, const std::vector<at::Tensor>& outputs, bool effects,
                         Recorder& recorder);

}  // namespace antegrad::capture
