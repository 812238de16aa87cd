#pragma once
#include <vector>

#include "antegrad/options.h"
#include "ir/graph.h"
#include "partition/classify.h"

namespace antegrad::partition {

/// What rules and the user's policy say of each value. Rules come first, of several the one for the innermost
/// scope. They bind tensors that the
/// forward pass computes: inputs, views, and what is random or must not run twice are left alone.
/// The policy is asked once for each tensor that the backward pass reads itself or through views, in order.
ir::PerValue<Keep> find_keeps(const ir::Graph& joint, const Classes& classes,
                              const std::vector<ScopeRule>& rules, const UserPolicy* policy);

/// Equal to it, or inside of it.
bool is_in_scope(std::string_view scope, std::string_view outer);

}  // namespace antegrad::partition
