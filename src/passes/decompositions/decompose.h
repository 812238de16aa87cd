#pragma once
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace antegrad::passes {

/// Replaces ops that are made of others (normalizations, softmax, losses, activations, foreach, …) by
/// pointwise ops, sums and maxima, views, gathers and scatters, which fuse. Outputs keep their values' types;
/// the new nodes have the provenance of the old one. What a rule of decompositions.h does not know stays.
bool decompose(ir::Graph& graph);

bool is_decomposed(std::string_view op);  ///< there is a rule for it

/// The ops that have a rule, sorted; those on lists of tensors (aten._foreach_…) are not named.
std::vector<std::string_view> decomposed_ops();

}  // namespace antegrad::passes
