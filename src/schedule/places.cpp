#include "schedule/places.h"

namespace antegrad::schedule {

void Places::grow(size_t values) {
  places_.resize(values);
  views_.resize(values);
}

bool Places::makes_views(const ir::Graph& graph, const ir::Node& node) const {
  if (node.outputs.empty() || !node.effects.none() || node.args.empty() || !node.args[0].as<ir::ValueId>())
    return false;
  const auto source = *node.args[0].as<ir::ValueId>();
  if (graph.type_of(source).tensor() == nullptr) return false;
  for (auto id : node.outputs) {
    const auto* type = graph.type_of(id).tensor();
    if (type == nullptr || type->dtype != graph.tensor_type(source).dtype) return false;
    if (graph.storage_of(id) == id) return false;
  }
  return true;
}

void Places::add(const ir::Graph& graph, ir::ValueId id) {
  grow(graph.values.size());
  const auto* type = graph.type_of(id).tensor();
  auto& place = places_[id];
  if (type == nullptr) return;
  place = {id, type->strides, 0};
  const auto base = graph.storage_of(id);
  if (base == id) return;
  const auto above = of(base);
  place = {above.owner, type->strides, above.offset + (type->offset - graph.tensor_type(base).offset)};
}

Places::Places(const ir::Graph& graph) {
  grow(graph.values.size());
  for (const auto& input : graph.inputs) {
    const auto* type = graph.type_of(input.value).tensor();
    if (type != nullptr) places_[input.value] = {input.value, type->strides, 0};
  }
  for (const auto n : graph.node_ids()) {
    const auto& node = graph.node(n);
    const bool views = makes_views(graph, node);
    makes_views_.push_back(views);
    for (auto id : node.outputs) {
      add(graph, id);
      auto& place = places_[id];
      if (!views) {
        if (place.owner.valid()) place = {id, place.strides, 0};
        continue;
      }
      const auto viewed = *node.args[0].as<ir::ValueId>();
      views_[id] = {n, viewed};
      const auto& type = graph.tensor_type(id);
      place = {of(viewed).owner, type.strides,
               of(viewed).offset + (type.offset - graph.tensor_type(viewed).offset)};
    }
  }
}

}  // namespace antegrad::schedule
