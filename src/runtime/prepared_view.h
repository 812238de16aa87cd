#pragma once
#include <cstdint>
#include <vector>

#include "aot/signature/signature.h"
#include "aten/op_schema.h"

namespace antegrad::runtime {

/// A view op with everything prepared but its tensor.
struct PreparedView {
  const aten::OpSchema* schema = nullptr;  ///< null for antegrad's own ops
  bool is_alias = false;
  std::vector<c10::IValue> stack;
  std::vector<int64_t> sizes, strides;
  int64_t offset = 0;
  int32_t output = 0;
};
PreparedView prepare(const aot::MakeView& step);
at::Tensor apply(const PreparedView& view, const at::Tensor& tensor);

/// Copies the tensor object as detach() does, but autograd does not see the copy as a view.
at::Tensor as_fresh_tensor(const at::Tensor& tensor);

}  // namespace antegrad::runtime
