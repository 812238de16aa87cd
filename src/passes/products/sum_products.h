#pragma once
#include "ir/graph.h"

namespace antegrad::passes {

/// Replaces sums of matrix products by one product of the matrices side by side: the gradient of a weight
/// that is used in every step of a loop. Only where copying the matrices moves less memory than the sum of
/// the products does, and only on the CPU.
bool sum_products(ir::Graph& graph);

}  // namespace antegrad::passes
