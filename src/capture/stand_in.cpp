#include "capture/stand_in.h"

#include <c10/core/InferenceMode.h>

#include "capture/fake.h"
#include "capture/gradients.h"

namespace antegrad::capture {

at::Tensor stand_in(const at::Tensor& real, at::IntArrayRef sizes, at::IntArrayRef strides) {
  const c10::InferenceMode inference(real.is_inference());
  int64_t elements = real.storage_offset() + 1;
  for (size_t d = 0; d < sizes.size(); ++d) elements += std::max<int64_t>(sizes[d] - 1, 0) * strides[d];
  const auto bytes = elements * real.element_size();
  const auto device = real.device();
  auto tensor = at::detail::make_tensor<c10::TensorImpl>(
      make_fake_storage(bytes, device),
      c10::DispatchKeySet(device.is_cuda() ? c10::DispatchKey::CUDA : c10::DispatchKey::CPU), real.dtype());
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides, real.storage_offset());
  copy_autograd_state(real, tensor);
  if (real.is_leaf() && real.grad().defined()) tensor.mutable_grad() = real.grad();
  return tensor;
}

}  // namespace antegrad::capture
