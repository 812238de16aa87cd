#include "passes/simplify/keep_errors.h"

#include <algorithm>

#include "ir/ops.h"
#include "passes/rewrite/rewrite.h"

namespace antegrad::passes {
namespace {

bool may_throw(const ir::Graph& graph, const ir::Node& node) {
  const auto when = ir::raises(node.op);
  if (when != ir::Raises::Integers) return when == ir::Raises::Always;
  return std::ranges::any_of(node.outputs, [&](ir::ValueId id) {
    const auto* type = graph.type_of(id).tensor();
    return type != nullptr && !ir::is_floating(type->dtype) && !ir::is_complex(type->dtype);
  });
}

}  // namespace

bool keep_errors(ir::Graph& graph) {
  if (!is_functional(graph)) return false;
  ir::PerValue<bool> live(graph.values.size());
  const auto use = [&](ir::ValueId id) {
    if (id.valid()) live[id] = true;
  };
  for (const auto& output : graph.outputs)
    if (output.role != ir::OutputRole::Grad) use(output.value);
  bool changed = false;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    auto& node = graph.nodes[i];
    if (node.provenance.backward) continue;
    bool needed = node.effects.random || node.effects.ordered;
    for (auto id : node.outputs) needed = needed || live[id];
    if (!needed && !node.functional && may_throw(graph, node)) changed = needed = node.effects.ordered = true;
    if (!needed) continue;
    ir::for_each_input(node, use);
    for (auto id : node.effects.writes) use(id);
  }
  return changed;
}

}  // namespace antegrad::passes
