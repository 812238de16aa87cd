#include "schedule/places.h"

namespace antegrad::schedule {

void Places::grow(size_t values) {
  places_.resize(values);
  view_node_.resize(values, -1);
  viewed_.resize(values);
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
  auto& place = places_[static_cast<size_t>(id.index)];
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
    if (type != nullptr) places_[static_cast<size_t>(input.value.index)] = {input.value, type->strides, 0};
  }
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const auto& node = graph.nodes[n];
    const bool views = makes_views(graph, node);
    view_nodes_.push_back(views);
    for (auto id : node.outputs) {
      add(graph, id);
      auto& place = places_[static_cast<size_t>(id.index)];
      if (!views) {
        if (place.owner.valid()) place = {id, place.strides, 0};
        continue;
      }
      view_node_[static_cast<size_t>(id.index)] = static_cast<int32_t>(n);
      viewed_[static_cast<size_t>(id.index)] = *node.args[0].as<ir::ValueId>();
      const auto viewed = *node.args[0].as<ir::ValueId>();
      const auto& type = graph.tensor_type(id);
      place = {of(viewed).owner, type.strides,
               of(viewed).offset + (type.offset - graph.tensor_type(viewed).offset)};
    }
  }
}

}  // namespace antegrad::schedule
