#pragma once
#include "passes/decompositions/decompositions.h"

namespace antegrad::passes {

/// Replaces each node for which `rule_of` returns a rule (not null) by what the rule emits. Leaves alone
/// random and ordered nodes, and those for which the rule or the builder throws NotHandled.
bool replace_nodes(ir::Graph& graph, Decomposition (*rule_of)(std::string_view op));

}  // namespace antegrad::passes
