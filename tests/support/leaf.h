#pragma once
#include <torch/torch.h>

namespace antegrad::test {

/// Returns random numbers that require a gradient.
inline at::Tensor leaf(at::IntArrayRef sizes) { return torch::randn(sizes).requires_grad_(); }

}  // namespace antegrad::test
