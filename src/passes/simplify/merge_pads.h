#pragma once
#include "ir/graph.h"

namespace antegrad::passes {

/// Replaces a sum of tensors, each padded with zeros to the same sizes, by one concatenation if they lie side
/// by side. Such sums arise when the gradients of the parts of a tensor are added up.
bool merge_pads(ir::Graph& graph);

}  // namespace antegrad::passes
