#include "ir/storages.h"

#include <algorithm>

namespace antegrad::ir {

Storages::Storages(const Graph& before) {
  root_.reserve(before.values.size());
  offset_.reserve(before.values.size());
  for (const auto id : before.values.ids()) {
    root_.push_back(before.storage_of(id));
    const auto* tensor = before.type_of(id).tensor();
    offset_.push_back(tensor == nullptr ? Dim(0) : tensor->offset);
  }
}

ValueId Storages::source(const Node& node, ValueId output) const {
  ValueId found;
  const auto look = [&](ValueId id) {
    if (!found.valid() && id != output && root_.contains(id) && root_[id] == root_[output]) found = id;
  };
  if (!root_.contains(output) || root_[output] == output) return found;
  for_each_input(node, look);
  for (const auto id : node.effects.writes) look(id);
  for (const auto id : node.outputs) {
    if (id == output) break;
    look(id);
  }
  return found;
}

void Storages::follow(Graph& graph, const Node& node, ValueId output, ValueId view,
                      const PerValue<ValueId>& map) const {
  const auto from = source(node, output);
  if (!from.valid()) return;
  const auto to = map.contains(from) && map[from].valid() ? map[from] : from;
  auto& value = graph.values[view];
  value.base = graph.storage_of(to);
  auto* type = value.type.tensor();
  if (type == nullptr) return;
  const auto& now = graph.tensor_type(to).offset;
  if (!(now == offset_[from])) type->offset = offset_[output] + now - offset_[from];
}

void Storages::follow(Graph& graph, const Node& node, const PerValue<ValueId>& map) const {
  for (const auto id : node.outputs) follow(graph, node, id, id, map);
}

}  // namespace antegrad::ir
