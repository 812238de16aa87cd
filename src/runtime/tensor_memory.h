#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

#include "ir/types.h"

namespace antegrad::runtime {

/// A dense tensor to be created during a run: everything but its memory, prepared beforehand.
struct TensorShape {
  explicit TensorShape(const ir::TensorType& type);
  std::vector<int64_t> sizes, strides;
  caffe2::TypeMeta dtype;
  c10::Device device;
  int64_t bytes = 0;
};

/// Returns a tensor with memory of its own, as at::empty_strided, but from the pool.
at::Tensor empty_tensor(const TensorShape& shape);
/// Returns a tensor on existing memory, `offset` bytes from its beginning.
at::Tensor tensor_on(const c10::Storage& storage, const TensorShape& shape, int64_t offset);
/// Returns another tensor object on the same memory, with version 0 and without a history.
at::Tensor as_new_tensor(const at::Tensor& tensor);

}  // namespace antegrad::runtime
