#pragma once
#include "ir/graph.h"

namespace antegrad::passes {

/// Makes products with weights that are constants of a frozen function (constants.h) products with packed
/// weights: `antegrad.pack` of a matrix [k, n] is the same in the layout of a library, as a tensor [n, k]
/// that only `antegrad.packed_mm` may read.
bool pack_weights(ir::Graph& graph);

}  // namespace antegrad::passes
