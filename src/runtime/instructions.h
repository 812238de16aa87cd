#pragma once
#include <memory>
#include <vector>

#include "aten/op_schema.h"
#include "ir/graph.h"
#include "runtime/executable.h"
#include "runtime/plan/placement.h"

namespace antegrad::runtime {

/// Makes a call without boxing, for the C++ signatures in typed_calls.cpp. Null for any other signature.
std::unique_ptr<Instruction> make_typed_call(const ir::Node& node, const aten::OpSchema& schema,
                                             const RegisterMap& register_of, bool reuse = false);
/// Makes a call of add, sub, mul or div with a number. Null for any other op.
std::unique_ptr<Instruction> make_number_call(const ir::Node& node, const aten::OpSchema& schema,
                                              const RegisterMap& register_of, bool reuse = false);
/// Makes a call through the op's boxed kernel, for any op.
std::unique_ptr<Instruction> make_boxed_call(const ir::Node& node, const aten::OpSchema& schema,
                                             const RegisterMap& register_of);
/// The same for an op with OpSchema::foreign. Its results are checked against what was captured.
std::unique_ptr<Instruction> make_foreign_call(const ir::Node& node, const aten::OpSchema& schema,
                                               const ir::Graph& graph, const RegisterMap& register_of);
/// Makes a call of a view op that needs no dispatcher. Returns `otherwise`, the op's ordinary call, for any
/// other op; the call also uses it for tensors with another layout than was captured.
std::unique_ptr<Instruction> make_view_call(const ir::Node& node, const ir::Graph& graph,
                                            const RegisterMap& register_of,
                                            std::unique_ptr<Instruction> otherwise);
/// Makes a call of one of antegrad's own ops. Null for ops of other libraries.
std::unique_ptr<Instruction> make_own_call(const ir::Node& node, const ir::Graph& graph,
                                           const RegisterMap& register_of);
/// Makes a call of one of antegrad's own random ops, see util/philox.h. Null for any other op.
std::unique_ptr<Instruction> make_random_call(const ir::Node& node, const ir::Graph& graph,
                                              const RegisterMap& register_of);

/// Makes a call of an out_op() into an existing tensor, which the register of the result holds. `as_eager`:
/// with exactly eager's bits.
std::unique_ptr<Instruction> make_out_call(const ir::Node& node, const ir::Graph& graph,
                                           const RegisterMap& register_of, bool as_eager);

/// Makes the call of a node. `reuse`: the first argument is not needed afterwards and has the type of the
/// result, so its memory may become the result's when nobody else holds it.
std::unique_ptr<Instruction> make_instruction(const ir::Node& node, const ir::Graph& graph,
                                              const RegisterMap& register_of, bool reuse = false);

/// Returns the in-place variant of an op ("aten.add_.Tensor" of "aten.add.Tensor"), or null.
const aten::OpSchema* in_place_of(std::string_view op);
/// Returns whether only its register holds the tensor and its memory, all of which it covers.
bool is_owned(const at::Tensor& tensor);

/// Returns a tensor with the contents of an antegrad.constant node.
at::Tensor constant_tensor(const ir::Node& node, const ir::TensorType& type);

/// Copies contents into memory that may overlap itself (an expanded tensor), which copy_ refuses.
void copy_memory(at::Tensor to, at::Tensor from);
at::Tensor empty_with_offset(at::IntArrayRef sizes, at::IntArrayRef strides, int64_t offset,
                             const at::TensorOptions& options);
/// Returns a copy with the same sizes and strides, also when elements share memory.
at::Tensor clone_with_strides(const at::Tensor& tensor);

}  // namespace antegrad::runtime
