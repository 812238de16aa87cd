#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "antegrad/options.h"
#include "ir/graph.h"
#include "partition/classify.h"

namespace antegrad::partition {

/// Returns what the scope rules and the user's policy require for each value. Rules take precedence, the one
/// for the innermost scope over others. They apply to tensors that the forward pass computes, but not to
/// inputs, views, random values or values that must not be computed twice. The policy is called once, in
/// order, for each tensor that the backward pass reads directly or through views.
ir::PerValue<Keep> apply_rules(const ir::Graph& joint, const Classes& classes,
                               const std::vector<ScopeRule>& rules, const UserPolicy* policy);

/// What the rule for the innermost scope around `scope` says.
Keep rule_for(const std::string& scope, const std::vector<ScopeRule>& rules);

/// Whether `scope` is `outer` or inside it.
bool is_in_scope(std::string_view scope, std::string_view outer);

}  // namespace antegrad::partition
