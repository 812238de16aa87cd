#pragma once
#include <ATen/core/Tensor.h>

#include "fuzz/rng.h"

namespace antegrad::fuzz {

/// Returns random numbers in the shape and dtype of a tensor: contiguous, transposed, with gaps, or expanded.
at::Tensor make_tangent(const at::Tensor& like, Rng rng);

}  // namespace antegrad::fuzz
