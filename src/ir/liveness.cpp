#include "ir/liveness.h"

#include <algorithm>

namespace antegrad::ir {

Liveness::Liveness(const Graph& graph)
    : graph_(graph), values_(graph.values.size()), storages_(graph.values.size()) {}

Liveness Liveness::of_nodes(const Graph& graph) {
  Liveness out(graph);
  int32_t position = 0;
  for (const auto& node : graph.nodes) out.run(node, position++);
  out.return_outputs(position);
  return out;
}

void Liveness::make(ValueId id, int32_t position) {
  for (auto* lifetime : {&values_[id], &storages_[graph_.storage_of(id)]})
    if (lifetime->first < 0 || position < lifetime->first) lifetime->first = position;
  use(id, position);
}

void Liveness::use(ValueId id, int32_t position) {
  for (auto* lifetime : {&values_[id], &storages_[graph_.storage_of(id)]})
    lifetime->last = std::max(lifetime->last, position);
}

void Liveness::run(const Node& node, int32_t position) {
  for_each_input(node, [&](ValueId id) { use(id, position); });
  for (const auto id : node.effects.writes) use(id, position);
  for (const auto id : node.outputs) make(id, position);
}

void Liveness::return_outputs(int32_t position) {
  for (const auto& output : graph_.outputs)
    if (output.value.valid()) use(output.value, position);
}

}  // namespace antegrad::ir
