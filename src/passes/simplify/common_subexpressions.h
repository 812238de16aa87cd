#pragma once
#include "ir/graph.h"

namespace antegrad::passes {

/// Merges nodes that compute the same: equal op, arguments, attributes and output types. Excludes random,
/// ordered and writing nodes and factories of uninitialised memory, and every pair whose merging would make
/// two graph outputs share memory, directly or through views, or turn two outputs into one tensor. In a joint
/// graph, nothing is merged with memory that the caller gets from the forward half: the backward half may
/// save the other copy, which the caller cannot write. Does nothing on traced graphs.
bool common_subexpressions(ir::Graph& graph);

}  // namespace antegrad::passes
