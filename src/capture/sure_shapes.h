#pragma once
#include "ir/graph.h"

namespace antegrad::capture {

/// Whether LibTorch accepts a recorded op, and gives results of the types in the graph, for all values above
/// 1 of sizes that depend on symbols: for ops of simple shape rules, checked over the symbols. A node whose
/// types were found at a few sizes may be refused, or have other results, at others (a view of half of an odd
/// size, a slice beyond the end).
bool has_sure_shapes(const ir::Graph& over_symbols, const ir::Node& node);

}  // namespace antegrad::capture
