#pragma once
#include <vector>

#include "ir/graph.h"

namespace antegrad::passes {

/// Removes the effect of ordered nodes of a backward graph that autograd's engine would not reach, so that
/// they can be removed as dead code: nodes whose results lead only to gradients that are not `wanted`
/// (indexed by output), or that were recorded for tangents none of which is `defined` (indexed by tangent).
void release_unreached_effects(ir::Graph& graph, const std::vector<bool>& wanted,
                               const std::vector<bool>& defined);

}  // namespace antegrad::passes
