#pragma once
#include <torch/csrc/autograd/function.h>

namespace antegrad::engine {

/// The number of a node that multiplies by one or divides by one (a loss scale, say), where it is a float;
/// else null. LibTorch would have it be part of what identifies a pass; as an input of the graph it may
/// change.
at::Scalar* changing_scalar(torch::autograd::Node& node);

/// As a tensor that LibTorch's ops take for a number.
at::Tensor as_number(const at::Scalar& scalar);

/// What such a node does, with `number` in the place of its own.
torch::autograd::variable_list apply_with_number(const torch::autograd::Node& node,
                                                 const torch::autograd::variable_list& incoming,
                                                 const at::Tensor& number);

}  // namespace antegrad::engine
