#pragma once
#include "ir/graph.h"

namespace antegrad::ir {

/// Returns a node that copies a tensor to new memory with the strides of `type`. It has no output yet.
Node restride_node(ValueId tensor, const TensorType& type);

}  // namespace antegrad::ir
