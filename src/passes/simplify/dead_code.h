#pragma once
#include "ir/graph.h"

namespace antegrad::passes {

/// Removes nodes without used outputs. Keeps ordered nodes, random ones (removing one would shift what later
/// ones draw) and those that write to the memory of other values. Keeps inputs, which are part of the
/// signature. Safe on traced graphs, where every in-place op counts as a write.
bool dead_code(ir::Graph& graph);

}  // namespace antegrad::passes
