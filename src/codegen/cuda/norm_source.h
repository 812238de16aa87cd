#pragma once
// Norms of many tensors together, as two kernels: the first stores partial results per block, the second
// combines them. Both add in an order that depends on nothing but the sizes of the tensors.
#include "codegen/cuda/tensor_table.h"

namespace antegrad::codegen::cuda {

/// What is combined: the largest absolute value, or a sum of absolute values, squares, powers.
enum class NormKind : uint8_t { Max, Sum, Squares, Powers };

/// Returns the first kernel, for tables of one tensor per row and no numbers:
///   AG_KERNEL(kTableThreads) name(AgTable table, int rows, int tiles, double* partials, double power)
/// Block b stores what its elements combine to in partials[2 * b], and in the next one 1 if an element is not
/// finite, else 0. With `vectors`, tensors must begin at multiples of 16 bytes.
TableText norm_source(const std::string& name, NormKind kind, ir::DType dtype, bool vectors);

/// How the second kernel ends a norm.
struct NormEnd {
  double power = 2;                ///< of NormKind::Powers
  double known = -1;               ///< the norm where it does not depend on the elements, else below 0
  double multiplier = 1;           ///< of the tensors: the norm is that of the products
  double most = -1;                ///< the norm from which on they are scaled down; below 0 for none
  const float* divisor = nullptr;  ///< memory of the device; the multiplier is divided by it
  int32_t kind = 0;                ///< a NormKind
  int32_t skips = 0;               ///< 1 to set TableControl::skip where an element is not finite
};
/// Returns the second kernel, which one block runs and which sets all of *control:
///   AG_KERNEL(kTableThreads) name(const double* partials, long long count, NormEnd how, AgControl* control)
/// `count`: of blocks of the first kernel.
std::string norm_end_source(const std::string& name);

}  // namespace antegrad::codegen::cuda
