#pragma once
#include "passes/decompositions/decompositions.h"

namespace antegrad::passes {

/// Replaces each node for which `rule_of` gives a rule, other than null, by what the rule emits. Random and
/// ordered nodes stay, and so does what is Unusual to the rule or the builder.
bool replace_nodes(ir::Graph& graph, Decomposition (*rule_of)(std::string_view op));

}  // namespace antegrad::passes
