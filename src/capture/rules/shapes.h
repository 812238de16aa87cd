#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/ScalarType.h>

#include <optional>
#include <vector>

#include "capture/rules/table.h"

namespace antegrad::capture::rules {

/// A new meta tensor, contiguous or in the given format.
Tensor empty(at::IntArrayRef sizes, at::ScalarType dtype,
             at::MemoryFormat format = at::MemoryFormat::Contiguous);
Tensor empty_strided(at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType dtype);

/// As at::empty_like: the strides of `x` where it is dense, else the dense strides of the same order.
Tensor like(const Tensor& x, std::optional<at::ScalarType> dtype = {});
Tensor contiguous_like(const Tensor& x, std::optional<at::ScalarType> dtype = {});
/// As `x` in its suggested memory format (channels last where x is that, else contiguous).
Tensor suggested_like(const Tensor& x, std::optional<at::ScalarType> dtype = {});
/// Each of the matrices in column-major order, batches contiguous: what LAPACK wrappers return.
Tensor column_major(at::IntArrayRef sizes, at::ScalarType dtype);
/// [batch, heads, length, width] whose memory is [batch, length, heads, width], for an x of four such dims.
Tensor heads_inside(const Tensor& x, int64_t width);

/// What TensorIterator allocates for a pointwise kernel over these inputs: broadcast sizes, propagated
/// strides.
Tensor pointwise(const std::vector<Tensor>& inputs, at::ScalarType dtype);

/// The dtype itself, or the default float type for integers.
at::ScalarType float_type(at::ScalarType dtype);
/// The dtype of sums: int64 for integers.
at::ScalarType sum_type(const Tensor& x, std::optional<at::ScalarType> dtype = {});
/// The float type in which reduced-precision kernels keep statistics.
at::ScalarType accumulate_type(at::ScalarType dtype);

int64_t wrap(int64_t dim, const Tensor& x);
/// Sizes after reducing `dims` (all when absent or empty).
Sizes reduced(const Tensor& x, const std::optional<Sizes>& dims, bool keepdim);
Sizes reduced(const Tensor& x, int64_t dim, bool keepdim);
/// A copy of `sizes` with the last entries replaced.
Sizes with_last(at::IntArrayRef sizes, const Sizes& last);
/// `values` repeated to `count` entries when it has only one.
Sizes filled(const Sizes& values, size_t count);

constexpr auto kLong = at::ScalarType::Long;
constexpr auto kBool = at::ScalarType::Bool;

/// Loss reductions as in ATen: 0 is none.
inline bool keeps_elements(int64_t reduction) { return reduction == 0; }

}  // namespace antegrad::capture::rules
