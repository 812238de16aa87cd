#pragma once
#include "ir/graph.h"

namespace antegrad::passes {

/// Removes views that change nothing (detach, view to the same sizes, slice of everything, …), views that
/// undo earlier views (t of t), and copies that cannot be told from their source. Keeps a view that is a
/// graph output, since the caller gets it as a separate tensor. Keeps a copy if its memory or that of its
/// source is in a graph output or, in a joint graph, in an input, which the caller may write before the
/// backward half runs. Does nothing on traced graphs.
bool remove_noop(ir::Graph& graph);

}  // namespace antegrad::passes
