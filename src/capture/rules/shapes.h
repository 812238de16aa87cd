#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/ScalarType.h>

#include <optional>
#include <vector>

#include "capture/rules/table.h"

namespace antegrad::capture::rules {

/// Returns a new meta tensor, contiguous or in the given format.
Tensor empty(at::IntArrayRef sizes, at::ScalarType dtype,
             at::MemoryFormat format = at::MemoryFormat::Contiguous);
Tensor empty_strided(at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType dtype);

/// As at::empty_like: the strides of `x` where it is dense, else dense strides in the same order.
Tensor like(const Tensor& x, std::optional<at::ScalarType> dtype = {});
Tensor contiguous_like(const Tensor& x, std::optional<at::ScalarType> dtype = {});
/// Like `x`, in its suggested memory format (channels last where x is, else contiguous).
Tensor suggested_like(const Tensor& x, std::optional<at::ScalarType> dtype = {});
/// Matrices in column-major order, batches contiguous, as LAPACK wrappers return them.
Tensor column_major(at::IntArrayRef sizes, at::ScalarType dtype);
/// A tensor of sizes [batch, heads, length, width], laid out in memory as [batch, length, heads, width]. `x`
/// has the former four dims.
Tensor length_major_heads(const Tensor& x, int64_t width);

/// The tensor that TensorIterator allocates for a pointwise kernel over these inputs: broadcast sizes,
/// propagated strides.
Tensor pointwise(const std::vector<Tensor>& inputs, at::ScalarType dtype);

/// The dtype itself, or the default dtype for integers and bool.
at::ScalarType float_type(at::ScalarType dtype);
/// The dtype of sums: int64 for integers and bool.
at::ScalarType sum_type(const Tensor& x, std::optional<at::ScalarType> dtype = {});
/// The dtype in which kernels keep statistics: float for reduced-precision types.
at::ScalarType accumulate_type(at::ScalarType dtype);

int64_t wrap(int64_t dim, const Tensor& x);
/// Sizes after reducing `dims` (all dims when absent or empty).
Sizes reduced(const Tensor& x, const std::optional<Sizes>& dims, bool keepdim);
Sizes reduced(const Tensor& x, int64_t dim, bool keepdim);
/// A copy of `sizes` with the last entries replaced.
Sizes with_last(at::IntArrayRef sizes, const Sizes& last);
/// `values` repeated to `count` entries when it has only one.
Sizes filled(const Sizes& values, size_t count);

constexpr auto kLong = at::ScalarType::Long;
constexpr auto kBool = at::ScalarType::Bool;

/// Loss reductions are ATen's: 0 is none.
inline bool keeps_elements(int64_t reduction) { return reduction == 0; }

}  // namespace antegrad::capture::rules
