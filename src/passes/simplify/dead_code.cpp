#include "passes/simplify/dead_code.h"

#include "passes/rewrite/rewrite.h"

namespace antegrad::passes {
namespace {

bool must_stay(const ir::Node& node) {
  const auto& effects = node.effects;
  return effects.random || effects.ordered || (!effects.writes.empty() && !node.functional);
}

}  // namespace

bool dead_code(ir::Graph& graph) {
  ir::PerValue<bool> live(graph.values.size());
  auto use = [&](ir::ValueId id) {
    if (id.valid()) live[id] = true;
  };
  for (const auto& output : graph.outputs) use(output.value);

  Rewrite rewrite(graph);
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const auto& node = graph.nodes[i];
    bool needed = must_stay(node);
    for (auto id : node.outputs) needed = needed || live[id];
    if (!needed) {
      rewrite.erase_node(i);
      continue;
    }
    ir::for_each_input(node, use);
    for (auto id : node.effects.writes) use(id);
  }
  return rewrite.apply();
}

}  // namespace antegrad::passes
