#pragma once
#include <c10/util/SmallVector.h>
#include <torch/csrc/autograd/function.h>

namespace antegrad::engine {

/// Returns the number of a node that multiplies or divides by a float (a loss scale, say), else null.
/// LibTorch would make it part of what identifies a pass; as an input of the graph it may change.
at::Scalar* changing_scalar(torch::autograd::Node& node);

using Scalars = c10::SmallVector<at::Scalar*, 3>;
/// Returns the floating-point numbers of other nodes, which the function of a segment takes like numbers that
/// are arguments: they become inputs of the graph where they differ.
Scalars plain_scalars(torch::autograd::Node& node);

/// Returns it as a tensor that LibTorch's ops treat as a number.
at::Tensor as_number(const at::Scalar& scalar);

/// Does what such a node does, with `number` in place of its own.
torch::autograd::variable_list apply_with_number(const torch::autograd::Node& node,
                                                 const torch::autograd::variable_list& incoming,
                                                 const at::Tensor& number);

}  // namespace antegrad::engine
