#pragma once
#include <vector>

#include "ir/graph.h"

namespace antegrad::passes {

/// Specialises a backward graph to calls in which some tangents are undefined, following autograd: values
/// computed only from undefined ones are undefined, too; a sum with one defined gradient is that gradient;
/// other ops get zeros for undefined arguments. `defined` is indexed by tangent. Gradients that autograd
/// would leave undefined lose their value; `reached` says, for each output, whether to keep a gradient that
/// depends on no tangent.
void drop_undefined_tangents(ir::Graph& graph, const std::vector<bool>& defined,
                             const std::vector<bool>& reached);

}  // namespace antegrad::passes
