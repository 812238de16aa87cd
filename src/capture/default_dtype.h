#pragma once
#include <ATen/core/ivalue.h>

#include "aten/op_schema.h"
#include "ir/graph.h"

namespace antegrad::capture {

/// LibTorch compares an integer tensor with a floating-point number in the default dtype, which the graph
/// does not record. Later stages assume f32. Where the default is another dtype, this makes the number a
/// tensor of that dtype and changes `node`, which is about to be added to the graph, to the overload for
/// tensors.
void make_default_dtype_explicit(const aten::OpSchema& schema, c10::ArrayRef<c10::IValue> arguments,
                                 ir::Graph& graph, ir::Node& node);

}  // namespace antegrad::capture
