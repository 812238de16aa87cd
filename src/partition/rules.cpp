#include "partition/rules.h"

#include <algorithm>

#include "antegrad/error.h"
#include "partition/cost.h"
#include "partition/weights.h"
#include "passes/rewrite.h"

namespace antegrad::partition {
namespace {

Keep rule_for(const std::string& scope, const std::vector<ScopeRule>& rules) {
  const ScopeRule* best = nullptr;
  for (const auto& rule : rules)
    if (is_in_scope(scope, rule.scope) && (best == nullptr || rule.scope.size() > best->scope.size()))
      best = &rule;
  return best == nullptr ? Keep::Auto : best->keep;
}

/// Per storage: the backward pass of the uncompiled function reads a value on it.
std::vector<bool> storages_read(const ir::Graph& joint, const Classes& classes) {
  std::vector<bool> read(joint.values.size());
  for (size_t i = 0; i < joint.values.size(); ++i)
    if (classes.eager_reads[i]) read[at(joint.storage_of({static_cast<int32_t>(i)}))] = true;
  return read;
}

Candidate candidate(const ir::Graph& joint, const ir::Node& node, ir::ValueId id) {
  return {node.op, node.provenance.scope, storage_bytes(joint, id), is_dear(node)};
}

}  // namespace

bool is_in_scope(std::string_view scope, std::string_view outer) {
  if (!scope.starts_with(outer)) return false;
  return outer.empty() || scope.size() == outer.size() || scope[outer.size()] == '.';
}

std::vector<Keep> find_keeps(const ir::Graph& joint, const Classes& classes,
                             const std::vector<ScopeRule>& rules, const UserPolicy* policy) {
  if (rules.empty() && policy == nullptr) return {};
  if (policy != nullptr && !policy->decide)
    throw Error(ErrorCode::InvalidArgument, "partition", "the policy \"" + policy->id + "\" has no function",
                "Set UserPolicy::decide");
  std::vector<Keep> keeps(joint.values.size(), Keep::Auto);
  const auto read = storages_read(joint, classes);
  for (size_t i = 0; i < joint.nodes.size(); ++i) {
    const auto& node = joint.nodes[i];
    const auto& cls = classes.nodes[i];
    const bool late = node.provenance.backward && !cls.forward_needed;
    if (cls.backward_only || late || !can_recompute(node, cls) || passes::is_wrapped_number(node)) continue;
    for (const auto id : node.outputs) {
      if (joint.storage_of(id) != id || joint.type_of(id).tensor() == nullptr) continue;
      auto keep = rule_for(node.provenance.scope, rules);
      if (keep == Keep::Auto && policy != nullptr && read[at(id)])
        keep = policy->decide(candidate(joint, node, id));
      keeps[at(id)] = keep;
    }
  }
  return keeps;
}

}  // namespace antegrad::partition
