#include "passes/simplify/unreached_effects.h"

#include <algorithm>
#include <ranges>

namespace antegrad::passes {

void release_unreached_effects(ir::Graph& graph, const std::vector<bool>& wanted,
                               const std::vector<bool>& defined) {
  const auto is_ordered = [](const ir::Node& node) { return node.effects.ordered; };
  if (std::ranges::none_of(graph.nodes, is_ordered)) return;
  uint64_t defined_roots = 0;
  for (size_t k = 0; k < defined.size(); ++k)
    if (defined[k]) defined_roots |= uint64_t{1} << std::min<size_t>(k, 63);
  // Per value: whether it leads to any output, and to one that is wanted.
  ir::PerValue<bool> leads(graph.values.size()), leads_to_wanted(graph.values.size());
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const auto value = graph.outputs[i].value;
    if (!value.valid()) continue;
    leads[value] = true;
    if (wanted[i]) leads_to_wanted[value] = true;
  }
  for (auto& node : graph.nodes | std::views::reverse) {
    bool any = false, some_wanted = false;
    for (auto v : node.outputs) {
      any = any || leads[v];
      some_wanted = some_wanted || leads_to_wanted[v];
    }
    const auto mark = [&](ir::ValueId v) {
      if (any) leads[v] = true;
      if (some_wanted) leads_to_wanted[v] = true;
    };
    ir::for_each_input(node, mark);
    for (auto v : node.effects.writes) mark(v);
    const auto roots = node.provenance.roots;
    if ((any && !some_wanted) || (roots != 0 && (roots & defined_roots) == 0)) node.effects.ordered = false;
  }
}

}  // namespace antegrad::passes
