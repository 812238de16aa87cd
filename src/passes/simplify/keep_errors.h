#pragma once
#include "ir/graph.h"

namespace antegrad::passes {

/// Marks as ordered, and thus keeps, unread nodes that may throw depending on the data of their arguments, so
/// that the program throws what eager throws. Nodes that only the backward pass reads then run in the forward
/// pass. Nodes of the backward pass itself may still be removed: eager does not run them either.
bool keep_errors(ir::Graph& graph);

}  // namespace antegrad::passes
