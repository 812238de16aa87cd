#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <functional>

#include "capture/op_schema.h"
#include "ir/graph.h"

namespace antegrad::capture {

/// Between LibTorch's and the graph's spelling of the same thing. What has no counterpart throws.
ir::DType to_ir(c10::ScalarType dtype);
ir::Device to_ir(c10::Device device);
c10::ScalarType to_torch(ir::DType dtype);
c10::Device to_torch(const ir::Device& device);

/// The type of a tensor with these metadata; `device` in place of the tensor's own (which is a twin on meta).
ir::TensorType type_of(const at::Tensor& tensor, c10::Device device);
/// The numbers that dims are, where all are constants.
std::vector<int64_t> constants(const std::vector<ir::Dim>& dims);
at::TensorOptions options_of(const ir::TensorType& type);  ///< dtype and device
/// A tensor of that type on the meta device, every dim a constant.
at::Tensor make_meta(const ir::TensorType& type);

using ValueOf = std::function<ir::ValueId(const at::Tensor&)>;
using TensorOf = std::function<at::Tensor(ir::ValueId)>;

/// The value with its tensors (alone, in a list, in a list of optionals) replaced; anything else as it is.
c10::IValue map_tensors(const c10::IValue& value, const std::function<at::Tensor(const at::Tensor&)>& fn);

/// An argument of an op as the graph holds it. Throws Error(UnsupportedArgument) for what has no text form.
ir::Arg to_arg(const c10::IValue& value, const ArgSchema& schema, std::string_view op,
               const ValueOf& value_of);
/// And back, as the op's boxed kernel takes it.
c10::IValue to_ivalue(const ir::Arg& arg, const ArgSchema& schema, const TensorOf& tensor_of);

/// Fills args and attrs of a node; arguments equal to their defaults are left out.
void set_arguments(ir::Node& node, const OpSchema& schema, c10::ArrayRef<c10::IValue> values,
                   const ValueOf& value_of);
/// The whole boxed stack of a node, defaults included.
std::vector<c10::IValue> boxed_arguments(const ir::Node& node, const OpSchema& schema,
                                         const TensorOf& tensor_of);

}  // namespace antegrad::capture
