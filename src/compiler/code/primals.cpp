#include "compiler/code/primals.h"

#include <algorithm>
#include <set>

#include "ir/graph.h"
#include "passes/simplify/unread_statistics.h"

namespace antegrad::compiler {
namespace {

/// Per value: whether a gradient is computed from it.
ir::PerValue<bool> read_by_gradients(const ir::Graph& joint) {
  ir::PerValue<bool> read(joint.values.size());
  const auto is_read = [&](ir::ValueId v) { return read[v]; };
  const auto mark = [&](ir::ValueId v) { read[v] = true; };
  for (const auto& output : joint.outputs)
    if (output.role == ir::OutputRole::Grad && output.value.valid()) mark(output.value);
  for (auto node = joint.nodes.rbegin(); node != joint.nodes.rend(); ++node) {
    if (std::none_of(node->outputs.begin(), node->outputs.end(), is_read)) continue;
    for (size_t a = 0; a < node->args.size(); ++a)
      if (!passes::is_unread_statistic(*node, a)) ir::for_each_value(node->args[a], mark);
    for (const auto& attr : node->attrs) ir::for_each_value(attr.value, mark);
  }
  return read;
}

/// Per graph input: whether gradients read the value with which the function overwrote it.
std::vector<bool> overwritten_inputs(const ir::Graph& captured) {
  const auto read = read_by_gradients(captured);
  std::vector<bool> overwritten(captured.inputs.size());
  for (const auto& output : captured.outputs)
    if (output.role == ir::OutputRole::MutatedInput && read[output.value]) overwritten[output.target] = true;
  return overwritten;
}

/// Whether autograd regards an overwritten input as the same variable: it does if it was overwritten without
/// recording gradients, e.g. by `x.fill_(1)` under a NoGradGuard, even if none of its old contents are left.
bool is_same_variable(const capture::Trace& trace, int32_t slot) {
  const auto& end = trace.inputs[slot].end;
  return end.version_bumps > 0 && !end.history_changed &&
         std::any_of(trace.gradients.begin(), trace.gradients.end(),
                     [&](const capture::GradientEnd& gradient) { return gradient.input == slot; });
}

}  // namespace

std::vector<int32_t> primals_of(const ir::Graph& joint, const ir::Graph& captured,
                                const aot::Signature& signature, const capture::Trace& trace) {
  const auto read = read_by_gradients(joint);
  const auto overwritten = overwritten_inputs(captured);
  std::vector<int32_t> primals;
  for (size_t i = 0; i < signature.graph_inputs.size(); ++i) {
    const bool is_read = read[joint.inputs[i].value];
    const bool is_overwritten = i < overwritten.size() && overwritten[i];
    const auto add = [&](int32_t slot) {
      if (is_read || (is_overwritten && is_same_variable(trace, slot))) primals.push_back(slot);
    };
    const auto slot = signature.graph_inputs[i];
    if (slot < signature.inputs)
      add(slot);
    else if (const auto* base = aot::find_base(signature, slot))
      std::for_each(base->members.begin(), base->members.end(), add);
  }
  return primals;
}

std::vector<uint64_t> saving_nodes(const ir::Graph& captured) {
  ir::PerValue<bool> is_gradient(captured.values.size());
  for (const auto& input : captured.inputs) is_gradient[input.value] = input.role == ir::InputRole::Tangent;
  std::set<uint64_t> found;
  for (const auto& node : captured.nodes) {
    if (!node.provenance.backward) continue;
    bool reads_saved = false;
    ir::for_each_input(node, [&](ir::ValueId value) { reads_saved |= !is_gradient[value]; });
    // Ops that belong to no node of autograd's are taken to belong to all.
    if (reads_saved) found.insert(node.provenance.roots != 0 ? node.provenance.roots : ~uint64_t{0});
    for (const auto output : node.outputs) is_gradient[output] = true;
  }
  return {found.begin(), found.end()};
}

}  // namespace antegrad::compiler
