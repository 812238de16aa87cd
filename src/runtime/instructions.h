#pragma once
#include <memory>
#include <vector>

#include "capture/op_schema.h"
#include "ir/graph.h"
#include "runtime/executable.h"

namespace antegrad::runtime {

using RegisterMap = ir::PerValue<int32_t>;  ///< -1: none

/// A call without boxing, for the C++ signatures in typed_calls.cpp. Null when the op has another one.
std::unique_ptr<Instruction> make_typed_call(const ir::Node& node, const capture::OpSchema& schema,
                                             const RegisterMap& register_of, bool reuse = false);
/// A call of add, sub, mul or div with a number. Null for any other op.
std::unique_ptr<Instruction> make_number_call(const ir::Node& node, const capture::OpSchema& schema,
                                              const RegisterMap& register_of, bool reuse = false);
/// A call through the op's boxed kernel: any op.
std::unique_ptr<Instruction> make_boxed_call(const ir::Node& node, const capture::OpSchema& schema,
                                             const RegisterMap& register_of);
/// The same for an op with OpSchema::foreign; what it gives is held against what was captured.
std::unique_ptr<Instruction> make_foreign_call(const ir::Node& node, const capture::OpSchema& schema,
                                               const ir::Graph& graph, const RegisterMap& register_of);
/// The ops of antegrad's own. Null when it is none of them.
std::unique_ptr<Instruction> make_own_call(const ir::Node& node, const ir::Graph& graph,
                                           const RegisterMap& register_of);
/// The random ops of antegrad's own, see util/philox.h. Null when it is none of them.
std::unique_ptr<Instruction> make_random_call(const ir::Node& node, const ir::Graph& graph,
                                              const RegisterMap& register_of);

/// Whether there is a call of the op that writes its result into a tensor that exists.
bool has_out_call(const ir::Node& node, const ir::Graph& graph);
/// The register of the result holds that tensor. `as_eager`: with the very bits that eager gives.
std::unique_ptr<Instruction> make_out_call(const ir::Node& node, const ir::Graph& graph,
                                           const RegisterMap& register_of, bool as_eager);

/// `reuse`: the first argument is not needed afterwards and has the type of the result, so its memory may
/// become the result's, when nobody else holds it.
std::unique_ptr<Instruction> make_instruction(const ir::Node& node, const ir::Graph& graph,
                                              const RegisterMap& register_of, bool reuse = false);

/// The in-place namesake of an op ("aten.add_.Tensor" of "aten.add.Tensor"); null: there is none.
const capture::OpSchema* in_place_of(std::string_view op);
/// Nobody but its register holds the tensor or its memory, all of which it covers.
bool is_owned(const at::Tensor& tensor);

/// Copies contents into memory that may overlap itself (an expanded tensor), where copy_ refuses.
void copy_memory(at::Tensor to, at::Tensor from);
at::Tensor empty_with_offset(at::IntArrayRef sizes, at::IntArrayRef strides, int64_t offset,
                             const at::TensorOptions& options);
/// A copy with the same sizes and strides, also when elements share memory.
at::Tensor clone_with_strides(const at::Tensor& tensor);

}  // namespace antegrad::runtime
