#pragma once
#include "ir/graph.h"

namespace antegrad::passes {

/// Where a graph communicates, makes it first compare what it will communicate with the other processes of
/// each group (op antegrad_distributed.agree): processes that do different things would wait for each other
/// in vain.
void agree_on_communication(ir::Graph& graph);

}  // namespace antegrad::passes
