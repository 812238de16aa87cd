#include "runtime/tensor_memory.h"

#include <c10/core/CPUAllocator.h>

#include "aten/convert.h"
#include "runtime/cuda/device.h"
#include "runtime/memory_pool.h"
#include "runtime/plan/placement.h"

namespace antegrad::runtime {

TensorShape::TensorShape(const ir::TensorType& type)
    : sizes(aten::constants(type.sizes)),
      strides(aten::constants(type.strides)),
      dtype(c10::scalarTypeToTypeMeta(aten::to_torch(type.dtype))),
      device(aten::to_torch(type.device)),
      bytes(bytes_of(type)) {}

at::Tensor tensor_on(const c10::Storage& storage, const TensorShape& shape, int64_t offset) {
  auto tensor = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(storage),
      c10::DispatchKeySet(shape.device.is_cuda() ? c10::DispatchKey::CUDA : c10::DispatchKey::CPU),
      shape.dtype);
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(shape.sizes, shape.strides,
                                                      offset / static_cast<int64_t>(shape.dtype.itemsize()));
  return tensor;
}

at::Tensor empty_tensor(const TensorShape& shape) {
  auto memory = shape.device.is_cuda() ? cuda::allocate(shape.bytes) : memory_pool::allocate(shape.bytes);
  auto* allocator = shape.device.is_cuda() ? c10::GetAllocator(c10::kCUDA) : c10::GetCPUAllocator();
  return tensor_on(c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), shape.bytes,
                                                         std::move(memory), allocator, true),
                   shape, 0);
}

at::Tensor as_new_tensor(const at::Tensor& tensor) {
  return at::Tensor(tensor.unsafeGetTensorImpl()->shallow_copy_and_detach(c10::VariableVersion(0), true));
}

}  // namespace antegrad::runtime
