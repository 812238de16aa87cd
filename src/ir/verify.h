#pragma once
#include "ir/graph.h"

namespace antegrad::ir {

/// Throws Error(Verify) if the graph violates a rule of its stage. The message shows the node with the lines
/// around it.
void verify(const Graph& graph);

}  // namespace antegrad::ir
