#include "passes/rewrite/sharing.h"

#include <utility>

#include "ir/ops.h"

namespace antegrad::passes {
namespace {

bool holds_memory(const ir::Type& type) { return !std::holds_alternative<ir::ScalarKind>(type.v); }

ir::ValueId first_tensor(const ir::Graph& graph, const ir::Node& node) {
  ir::ValueId found;
  ir::for_each_input(node, [&](const ir::ValueId& id) {
    if (!found.valid() && holds_memory(graph.type_of(id))) found = id;
  });
  return found;
}

bool returned_by_forward(ir::OutputRole role) {
  return role == ir::OutputRole::UserOutput || role == ir::OutputRole::MutatedInput ||
         role == ir::OutputRole::IntermediateBase;
}

}  // namespace

Sharing::Sharing(const ir::Graph& graph)
    : root_(graph.values.size()),
      group_(graph.values.size()),
      groups_(graph.values.size()),
      direct_(graph.values.size()),
      is_input_(graph.values.size()) {
  for (const auto id : graph.values.ids()) root_[id] = group_[id] = groups_[id].merged_into = id;
  for (const auto& input : graph.inputs) {
    place(graph, input.value, {});
    is_input_[input.value] = true;
    if (input.role != ir::InputRole::Tangent) groups_[group_[input.value]].caller_writes = true;
  }
  for (const auto& node : graph.nodes) {
    const auto* info = ir::find_op(node.op);
    const bool views = info != nullptr && info->kind == ir::OpKind::View;
    for (auto id : node.outputs) place(graph, id, views ? first_tensor(graph, node) : ir::ValueId{});
  }
  for (const auto& output : graph.outputs) {
    if (!output.value.valid()) continue;
    ++direct_[output.value];
    if (!holds_memory(graph.type_of(output.value))) continue;
    auto& group = groups_[group_[output.value]];
    ++group.outputs;
    if (returned_by_forward(output.role)) group.caller_writes = true;
  }
}

void Sharing::place(const ir::Graph& graph, ir::ValueId id, ir::ValueId viewed) {
  const auto base = graph.values[id].base;
  if (base.valid()) {
    root_[id] = root(base);
    group_[id] = group_[base];
  } else if (viewed.valid() && holds_memory(graph.type_of(id))) {
    group_[id] = group_[viewed];
  }
}

ir::ValueId Sharing::root(ir::ValueId id) const {
  auto at = root_[id];
  while (root_[at] != at) at = root_[at];
  return at;
}

ir::ValueId Sharing::find(ir::ValueId id) const {
  auto at = group_[id];
  while (groups_[at].merged_into != at) at = groups_[at].merged_into;
  return at;
}

void Sharing::merge(ir::ValueId from, ir::ValueId to) {
  root_[from] = root(to);
  const auto source = find(from), target = find(to);
  if (source == target) return;
  groups_[source].merged_into = target;
  groups_[target].outputs += groups_[source].outputs;
  groups_[target].caller_writes = groups_[target].caller_writes || groups_[source].caller_writes;
}

void Sharing::move_outputs(ir::ValueId from, ir::ValueId to) {
  direct_[to] += std::exchange(direct_[from], 0);
}

}  // namespace antegrad::passes
