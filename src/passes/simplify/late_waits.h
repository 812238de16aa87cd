#pragma once
#include "ir/graph.h"

namespace antegrad::passes {

/// Moves nodes that wait for something that was started earlier (ir::kWaits) to just before the first node
/// that reads their results, or to the end. Returns whether the graph has changed.
bool late_waits(ir::Graph& graph);

}  // namespace antegrad::passes
