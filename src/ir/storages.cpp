#include "ir/storages.h"

#include <algorithm>

namespace antegrad::ir {

Storages::Storages(const Graph& before) {
  root_.reserve(before.values.size());
  offset_.reserve(before.values.size());
  for (int32_t i = 0; i < static_cast<int32_t>(before.values.size()); ++i) {
    root_.push_back(before.storage_of({i}));
    const auto* tensor = before.type_of({i}).tensor();
    offset_.push_back(tensor == nullptr ? Dim(0) : tensor->offset);
  }
}

ValueId Storages::source(const Node& node, ValueId output) const {
  ValueId found;
  const auto look = [&](ValueId id) {
    if (!found.valid() && id != output && knows(id) && root(id) == root(output)) found = id;
  };
  if (!knows(output) || root(output) == output) return found;
  for_each_input(node, look);
  for (const auto id : node.effects.writes) look(id);
  for (const auto id : node.outputs) {
    if (id == output) break;
    look(id);
  }
  return found;
}

void Storages::follow(Graph& graph, const Node& node, ValueId output, ValueId view,
                      const std::vector<ValueId>& map) const {
  const auto from = source(node, output);
  if (!from.valid()) return;
  const auto at = static_cast<size_t>(from.index);
  const auto to = at < map.size() && map[at].valid() ? map[at] : from;
  auto& value = graph.values[static_cast<size_t>(view.index)];
  value.base = graph.storage_of(to);
  auto* type = value.type.tensor();
  if (type == nullptr) return;
  const auto& now = graph.tensor_type(to).offset;
  if (!(now == offset_[at])) type->offset = offset_[static_cast<size_t>(output.index)] + now - offset_[at];
}

void Storages::follow(Graph& graph, const Node& node, const std::vector<ValueId>& map) const {
  for (const auto id : node.outputs) follow(graph, node, id, id, map);
}

}  // namespace antegrad::ir
