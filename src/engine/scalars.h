#pragma once
#include <torch/csrc/autograd/function.h>

namespace antegrad::engine {

/// Returns the number of a node that multiplies or divides by a float (a loss scale, say), else null.
/// LibTorch would make it part of what identifies a pass; as an input of the graph it may change.
at::Scalar* changing_scalar(torch::autograd::Node& node);

/// Returns it as a tensor that LibTorch's ops treat as a number.
at::Tensor as_number(const at::Scalar& scalar);

/// Does what such a node does, with `number` in place of its own.
torch::autograd::variable_list apply_with_number(const torch::autograd::Node& node,
                                                 const torch::autograd::variable_list& incoming,
                                                 const at::Tensor& number);

}  // namespace antegrad::engine
