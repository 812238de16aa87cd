#pragma once
#include <ATen/core/Tensor.h>

namespace antegrad::capture {

/// A tensor without memory that a capture takes for `real` in another shape. For capture() only: what reads
/// its data throws.
at::Tensor stand_in(const at::Tensor& real, at::IntArrayRef sizes, at::IntArrayRef strides);

}  // namespace antegrad::capture
