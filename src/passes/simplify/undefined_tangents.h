#pragma once
#include <vector>

#include "ir/graph.h"

namespace antegrad::passes {

/// Specialises a backward graph to calls in which some tangents are undefined, as autograd does: what is
/// computed from them alone is undefined too, a sum with a defined gradient is that gradient, and where an op
/// takes both it gets zeros. `defined`: per tangent. Gradients that autograd would leave undefined lose their
/// value; `reached` says, per output, whether to keep one that depends on no tangent.
void drop_undefined_tangents(ir::Graph& graph, const std::vector<bool>& defined,
                             const std::vector<bool>& reached);

}  // namespace antegrad::passes
