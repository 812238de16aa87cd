#pragma once
#include <vector>

#include "ir/graph.h"

namespace antegrad::passes {

/// Of a backward graph for some of its gradients (`wanted`, per output) and some of its tangents (`defined`,
/// per tangent): ordered nodes that autograd's engine would not have come to lose their effect, so that they
/// may go. Those are the ones whose results only lead to gradients that nobody wants, or that were recorded
/// for tangents of which none is defined.
void release_unreached_effects(ir::Graph& graph, const std::vector<bool>& wanted,
                               const std::vector<bool>& defined);

}  // namespace antegrad::passes
