#pragma once
#include <ATen/core/Tensor.h>

#include "ir/types.h"

// Products of large f32 matrices by oneDNN, which LibTorch contains but asks only for narrower types. On
// processors that are not Intel's it is faster than MKL, which LibTorch asks.
namespace antegrad::runtime::onednn {

enum class Use : uint8_t {
  Auto,   ///< where it is faster
  Never,  ///< LibTorch's own choice
  Always,
};
/// For what is compiled from now on.
void set_use(Use use);

/// Whether oneDNN is to compute a product of these sizes.
bool wins(const ir::TensorType& left, const ir::TensorType& out);

/// Users can switch oneDNN off in LibTorch's context at any time.
bool in_use_now();
/// out += left @ right, or = when `adds` is false.
void multiply(const at::Tensor& left, const at::Tensor& right, const at::Tensor& out, bool adds);

}  // namespace antegrad::runtime::onednn
