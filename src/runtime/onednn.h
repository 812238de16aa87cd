#pragma once
#include <ATen/core/Tensor.h>

#include "ir/types.h"

// Products of large f32 matrices by oneDNN, which LibTorch contains but uses only for narrower types. On
// processors other than Intel's it is faster than MKL, which LibTorch uses.
namespace antegrad::runtime::onednn {

enum class Use : uint8_t {
  Auto,   ///< where it is faster
  Never,  ///< LibTorch's own choice
  Always,
};
/// Applies to what is compiled from now on.
void set_use(Use use);

/// Returns whether oneDNN is to compute a product of these sizes.
bool wins(const ir::TensorType& left, const ir::TensorType& out);

/// Returns whether oneDNN is enabled in LibTorch's context, where users can disable it at any time.
bool in_use_now();

/// Returns whether weights are to be packed, in functions whose weights are constants.
bool packs();
/// Returns a matrix [k, n] as [n, k] in oneDNN's layout; in rows, where oneDNN is disabled.
at::Tensor pack(const at::Tensor& matrix);
/// Returns left @ matrix + bias for a pack()ed matrix. `bias`: may be undefined.
at::Tensor multiply_packed(const at::Tensor& left, const at::Tensor& packed, const at::Tensor& bias);

/// Computes out += left @ right, or out = left @ right when `adds` is false.
void multiply(const at::Tensor& left, const at::Tensor& right, const at::Tensor& out, bool adds);

}  // namespace antegrad::runtime::onednn
