#pragma once
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace antegrad::passes {

/// Replaces composite ops (normalizations, softmax, losses, activations, foreach, …) by pointwise ops, sums
/// and maxima, views, gathers and scatters, which fuse. Outputs keep their types; the new nodes have the
/// provenance of the old one. Nodes that no rule of decompositions.h handles are left alone.
bool decompose(ir::Graph& graph);

bool is_decomposed(std::string_view op);  ///< whether there is a rule for it

/// The ops that have a rule, sorted, without those on lists of tensors (aten._foreach_…).
std::vector<std::string_view> decomposed_ops();

}  // namespace antegrad::passes
