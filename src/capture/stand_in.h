#pragma once
#include <ATen/core/Tensor.h>

namespace antegrad::capture {

/// Returns a tensor without memory that a capture accepts as `real` in another shape. For capture() only:
/// reading its data throws.
at::Tensor stand_in(const at::Tensor& real, at::IntArrayRef sizes, at::IntArrayRef strides);

}  // namespace antegrad::capture
