#pragma once
#include "ir/graph.h"

namespace antegrad::passes {

/// Writes a sum of tensors, each padded with zeros up to the same sizes, as one concatenation where they lie
/// side by side. That is what the gradients of the parts of a tensor add up to.
bool merge_pads(ir::Graph& graph);

}  // namespace antegrad::passes
