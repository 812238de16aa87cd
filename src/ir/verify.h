#pragma once
#include "ir/graph.h"

namespace antegrad::ir {

/// Throws Error(Verify) when the graph breaks a rule of its stage; the text shows the node with the lines
/// around it.
void verify(const Graph& graph);

}  // namespace antegrad::ir
