#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

#include "ir/types.h"

namespace antegrad::runtime {

/// A dense tensor that a run makes: everything but its memory, prepared beforehand.
struct TensorShape {
  explicit TensorShape(const ir::TensorType& type);
  std::vector<int64_t> sizes, strides;
  caffe2::TypeMeta dtype;
  int64_t bytes = 0;
};

/// With memory of its own, as at::empty_strided, but from the pool.
at::Tensor empty_tensor(const TensorShape& shape);
/// On memory that is there, `offset` bytes from its beginning.
at::Tensor tensor_on(const c10::Storage& storage, const TensorShape& shape, int64_t offset);
/// The same memory as another tensor object, of version 0 and without a history.
at::Tensor as_new_tensor(const at::Tensor& tensor);

}  // namespace antegrad::runtime
