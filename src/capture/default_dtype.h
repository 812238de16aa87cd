#pragma once
#include <ATen/core/ivalue.h>

#include "capture/op_schema.h"
#include "ir/graph.h"

namespace antegrad::capture {

/// LibTorch compares integers and a number with a fraction in the default dtype, which nothing else in a
/// graph tells. Where that is not f32, which stages after this take for granted, the number becomes a tensor
/// of it: `node`, which is about to be added to the graph, is changed to the overload for tensors.
void spell_out_default_dtype(const OpSchema& schema, c10::ArrayRef<c10::IValue> arguments, ir::Graph& graph,
                             ir::Node& node);

}  // namespace antegrad::capture
