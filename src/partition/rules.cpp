#include "partition/rules.h"

#include <algorithm>

#include "antegrad/error.h"
#include "partition/cost.h"
#include "partition/weights.h"
#include "passes/rewrite/rewrite.h"

namespace antegrad::partition {
namespace {

/// Per storage: whether the backward pass of the uncompiled function reads a value on it.
ir::PerValue<bool> storages_read(const ir::Graph& joint, const Classes& classes) {
  ir::PerValue<bool> read(joint.values.size());
  for (const auto i : joint.values.ids())
    if (classes.values[i].eager_reads) read[joint.storage_of(i)] = true;
  return read;
}

Candidate candidate(const ir::Graph& joint, const ir::Node& node, ir::ValueId id) {
  return {node.op, node.provenance.scope, storage_bytes(joint, id), is_expensive(node)};
}

}  // namespace

bool is_in_scope(std::string_view scope, std::string_view outer) {
  if (!scope.starts_with(outer)) return false;
  return outer.empty() || scope.size() == outer.size() || scope[outer.size()] == '.';
}

Keep rule_for(const std::string& scope, const std::vector<ScopeRule>& rules) {
  const ScopeRule* best = nullptr;
  for (const auto& rule : rules)
    if (is_in_scope(scope, rule.scope) && (best == nullptr || rule.scope.size() > best->scope.size()))
      best = &rule;
  return best == nullptr ? Keep::Auto : best->keep;
}

ir::PerValue<Keep> apply_rules(const ir::Graph& joint, const Classes& classes,
                               const std::vector<ScopeRule>& rules, const UserPolicy* policy) {
  if (rules.empty() && policy == nullptr) return {};
  if (policy != nullptr && !policy->decide)
    throw Error(ErrorCode::InvalidArgument, "partition", "the policy \"" + policy->id + "\" has no function",
                "Set UserPolicy::decide");
  ir::PerValue<Keep> keeps(joint.values.size(), Keep::Auto);
  const auto read = storages_read(joint, classes);
  for (const auto i : joint.node_ids()) {
    const auto& node = joint.node(i);
    const auto& cls = classes.nodes[i];
    const bool late = node.provenance.backward && !cls.forward_needed;
    if (cls.backward_only || late || !can_recompute(node, cls) || passes::is_wrapped_number(node)) continue;
    for (const auto id : node.outputs) {
      if (joint.storage_of(id) != id || joint.type_of(id).tensor() == nullptr) continue;
      auto keep = rule_for(node.provenance.scope, rules);
      if (keep == Keep::Auto && policy != nullptr && read[id])
        keep = policy->decide(candidate(joint, node, id));
      keeps[id] = keep;
    }
  }
  return keeps;
}

}  // namespace antegrad::partition
