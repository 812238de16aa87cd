#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <functional>

#include "aten/op_schema.h"
#include "ir/graph.h"

namespace antegrad::aten {

/// Conversions between LibTorch's representation and the graph's. They throw for what has no counterpart.
ir::DType to_ir(c10::ScalarType dtype);
ir::Device to_ir(c10::Device device);
c10::ScalarType to_torch(ir::DType dtype);
c10::Device to_torch(const ir::Device& device);

/// Returns the type of the tensor, but on `device`: the tensor may be a twin on the meta device.
ir::TensorType type_of(const at::Tensor& tensor, c10::Device device);
/// Returns the dims as numbers; all must be constants.
std::vector<int64_t> constants(const std::vector<ir::Dim>& dims);
at::TensorOptions options_of(const ir::TensorType& type);  ///< dtype and device
/// Returns a tensor of that type on the meta device; all dims must be constants.
at::Tensor make_meta(const ir::TensorType& type);

using ValueOf = std::function<ir::ValueId(const at::Tensor&)>;
using TensorOf = std::function<at::Tensor(ir::ValueId)>;

/// Returns the value with its tensors (alone, in a list, in a list of optionals) replaced; any other value as
/// it is.
c10::IValue map_tensors(const c10::IValue& value, const std::function<at::Tensor(const at::Tensor&)>& fn);

/// Converts an argument of an op to the graph's form. Throws Error(UnsupportedArgument) where there is none.
ir::Arg to_arg(const c10::IValue& value, const ArgSchema& schema, std::string_view op,
               const ValueOf& value_of);
/// Converts back, to what the op's boxed kernel takes.
c10::IValue to_ivalue(const ir::Arg& arg, const ArgSchema& schema, const TensorOf& tensor_of);

/// Compares with the default, for the types that defaults have; anything else counts as different.
bool equals_default(const c10::IValue& value, const ArgSchema& schema);
/// Sets args and attrs of a node, leaving out arguments equal to their defaults.
void set_arguments(ir::Node& node, const OpSchema& schema, c10::ArrayRef<c10::IValue> values,
                   const ValueOf& value_of);
/// Returns the complete boxed stack of a node, defaults included.
std::vector<c10::IValue> boxed_arguments(const ir::Node& node, const OpSchema& schema,
                                         const TensorOf& tensor_of);

}  // namespace antegrad::aten
