#include "passes/rewrite/rewrite.h"

#include <algorithm>
#include <utility>

namespace antegrad::passes {

Rewrite::Rewrite(ir::Graph& graph)
    : graph_(graph),
      in_nodes_(graph.values.size()),
      in_outputs_(graph.values.size()),
      erased_(graph.nodes.size()) {}

ir::ValueId Rewrite::resolve(ir::ValueId id) const {
  const auto to = in_nodes_[id];
  return to.valid() ? to : id;
}

void Rewrite::replace_in_nodes(ir::ValueId from, ir::ValueId to) {
  in_nodes_[from] = resolve(to);
  changed_ = true;
}

void Rewrite::replace_in_outputs(ir::ValueId from, ir::ValueId to) {
  in_outputs_[from] = to;
  changed_ = true;
}

void Rewrite::erase_node(size_t node) {
  erased_[node] = true;
  changed_ = true;
}

bool Rewrite::apply() {
  if (!changed_) return false;
  size_t kept = 0;
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    if (erased_[i]) continue;
    if (kept != i) graph_.nodes[kept] = std::move(graph_.nodes[i]);
    ++kept;
  }
  graph_.nodes.resize(kept);
  auto outputs = graph_.outputs;
  for (auto& output : outputs)
    if (output.value.valid() && in_outputs_[output.value].valid()) output.value = in_outputs_[output.value];
  ir::replace_uses(graph_, in_nodes_);
  graph_.outputs = std::move(outputs);
  graph_.compact();
  return true;
}

ir::PerValue<ir::NodeId> definitions(const ir::Graph& graph) {
  ir::PerValue<ir::NodeId> node_of(graph.values.size());
  for (const auto node : graph.node_ids())
    for (auto id : graph.node(node).outputs) node_of[id] = node;
  return node_of;
}

ir::PerValue<int32_t> reads_by_nodes(const ir::Graph& graph) {
  ir::PerValue<int32_t> reads(graph.values.size());
  for (const auto& node : graph.nodes) ir::for_each_input(node, [&](const ir::ValueId& id) { ++reads[id]; });
  return reads;
}

ir::PerValue<bool> read_by_writers(const ir::Graph& graph) {
  ir::PerValue<bool> reads(graph.values.size());
  for (const auto& node : graph.nodes) {
    if (node.effects.writes.empty()) continue;
    ir::for_each_input(node, [&](const ir::ValueId& id) { reads[id] = true; });
    for (auto id : node.effects.writes) reads[id] = true;
  }
  return reads;
}

bool is_wrapped_number(const ir::Node& node) {
  return std::ranges::any_of(node.attrs, [](const ir::NamedArg& attr) {
    const auto* set = attr.value.as<bool>();
    return attr.name == "wrapped" && set != nullptr && *set;
  });
}

}  // namespace antegrad::passes
