#pragma once
#include <ATen/core/ivalue.h>

#include "aten/op_schema.h"
#include "ir/graph.h"

namespace antegrad::capture {

/// Records the default dtype where a node, which is about to be added to the graph, depends on it.
/// - LibTorch compares an integer tensor with a floating-point number in the default dtype, and later stages
///   assume f32. Where the default is another dtype, the number becomes a tensor of that dtype, and the node
///   the overload for tensors.
/// - The graph runs in the default dtype `of_graph`. Where the function has changed it, factories get it as
/// an
///   argument. Throws Error(UnsupportedOp) for other ops whose results follow it.
void make_default_dtype_explicit(const aten::OpSchema& schema, c10::ArrayRef<c10::IValue> arguments,
                                 c10::ScalarType of_graph, ir::Graph& graph, ir::Node& node);

}  // namespace antegrad::capture
