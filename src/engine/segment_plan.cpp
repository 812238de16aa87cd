#include "engine/segment_plan.h"

#include "engine/flat_index.h"

namespace antegrad::engine {

SegmentPlan::SegmentPlan(const PassGraph& graph, Part given) : part(std::move(given)) {
  nodes.reserve(part.items.size());
  for (const auto item : part.items) {
    nodes.push_back(*graph.items[item].node);
    for (const auto& [input, hook] : nodes.back()->retains_grad_hooks()) {
      const auto nr = static_cast<uint32_t>(input);
      retained.push_back({graph.items[item].first_slot + nr, graph.items[item].place, nr});
    }
  }
  for (const auto& end : part.trailing)
    trailing.push_back({*graph.items[end.item].node, graph.items[end.item].first_slot});
  find_targets(graph);
}

void SegmentPlan::find_targets(const PassGraph& graph) {
  FlatIndex<uint32_t> outside;
  first_target.reserve(nodes.size());
  targets.reserve(nodes.size() * 3 / 2);
  const auto step = graph.items[part.items[0]].step;
  for (size_t n = 0; n < nodes.size(); ++n) {
    first_target.push_back(static_cast<uint32_t>(targets.size()));
    const auto first = graph.items[part.items[n]].first_link;
    for (uint32_t i = 0; i < nodes[n]->num_outputs(); ++i) {
      const auto& link = graph.links[first + i];
      if (link.item == kNoNode) {
        targets.push_back({});
      } else if (const auto& to = graph.items[link.item]; to.step == step) {
        targets.push_back({Target::Kind::Inside, to.place, link.slot - to.first_slot});
      } else {
        const auto [index, added] = outside.number(link.slot);
        if (added) outgoing.push_back(link.slot);
        targets.push_back({Target::Kind::Outside, index, 0});
      }
    }
  }
}

}  // namespace antegrad::engine
