#pragma once
#include "ir/graph.h"

namespace antegrad::passes {

/// Removes nodes none of whose outputs are used. Ordered nodes stay, and so do random ones (removing one
/// would shift what later ones draw) and those that write to memory of others. Inputs stay: they are the
/// signature. Safe on traced graphs, where every in-place op counts as a write.
bool dead_code(ir::Graph& graph);

}  // namespace antegrad::passes
