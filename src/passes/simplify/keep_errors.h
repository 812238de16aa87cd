#pragma once
#include "ir/graph.h"

namespace antegrad::passes {

/// Makes nodes ordered that nobody reads and that may throw because of their arguments' data, so that they
/// are run: the program throws what eager throws. Those that only the backward pass reads are run in the
/// forward pass. Nodes of the backward pass itself are left to be removed: eager does not run them either.
bool keep_errors(ir::Graph& graph);

}  // namespace antegrad::passes
