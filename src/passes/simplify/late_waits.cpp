#include "passes/simplify/late_waits.h"

#include <algorithm>
#include <iterator>

namespace antegrad::passes {
namespace {

bool reads_any(const ir::Node& node, const std::vector<ir::ValueId>& values) {
  bool found = false;
  const auto look = [&](ir::ValueId id) { found = found || std::ranges::find(values, id) != values.end(); };
  ir::for_each_input(node, look);
  std::ranges::for_each(node.effects.writes, look);
  return found;
}

}  // namespace

bool late_waits(ir::Graph& graph) {
  bool changed = false;
  for (size_t i = graph.nodes.size(); i-- > 0;) {  // from the end, so that moved nodes are not met again
    if (ir::acts_on(graph.nodes[i].effects) != ir::kWaits) continue;
    size_t place = i + 1;
    while (place < graph.nodes.size() && !reads_any(graph.nodes[place], graph.nodes[i].outputs)) ++place;
    const auto at = [&](size_t n) { return graph.nodes.begin() + static_cast<std::ptrdiff_t>(n); };
    std::rotate(at(i), at(i + 1), at(place));
    changed = changed || place > i + 1;
  }
  return changed;
}

}  // namespace antegrad::passes
