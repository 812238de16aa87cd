#include "partition/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "partition/cost.h"

namespace antegrad::partition {
namespace {

class Explainer {
 public:
  Explainer(const ir::Graph& joint, const Classes& classes, const Limits& limits, const Plan& plan)
      : joint_(joint), classes_(classes), limits_(limits), saved_(joint.values.size()) {
    for (const auto id : plan.saved) saved_[id] = true;
    for (const auto& value : classes.values) wanted_.push_back(value.demanded);
    for (const auto i : joint.node_ids())
      if (plan.in_backward[i] && !classes.nodes[i].backward_only)
        for_each_read(joint.node(i), [&](ir::ValueId id) { wanted_[id] = true; });
  }

  std::vector<Decision> run() const {
    std::vector<Decision> out;
    for (const auto& input : joint_.inputs)
      if (saved_[input.value]) out.push_back(decision(input.value));
    for (const auto& node : joint_.nodes)
      for (const auto id : node.outputs)
        if (is_decided(id)) out.push_back(decision(id));
    return out;
  }

 private:
  Decision decision(ir::ValueId id) const {
    const auto node = classes_.values[id].definition;
    Decision out;
    out.value = id;
    out.op = node.valid() ? joint_.node(node).op : "input";
    if (node.valid()) out.scope = joint_.node(node).provenance.scope;
    out.bytes = classes_.values[id].needs_copy ? dense_bytes(joint_, id) : storage_bytes(joint_, id);
    out.saved = saved_[id];
    out.reason = out.saved ? why_saved(id) : why_recomputed(id);
    return out;
  }

  std::string why_saved(ir::ValueId id) const;
  std::string why_recomputed(ir::ValueId id) const;
  std::string why_expensive(const ir::Node& node, const NodeClass& cls) const;
  std::string why_reduction(const ir::Node& node, ir::ValueId id) const;
  bool is_decided(ir::ValueId id) const;
  Keep keep(ir::ValueId id) const { return limits_.keep.empty() ? Keep::Auto : limits_.keep[id]; }

  const ir::Graph& joint_;
  const Classes& classes_;
  const Limits& limits_;
  ir::PerValue<bool> saved_, wanted_;
};

/// Values that the backward pass recorded and computes itself involve no decision.
bool Explainer::is_decided(ir::ValueId id) const {
  if (saved_[id] || !wanted_[id] || is_none(joint_, id)) return saved_[id];
  const auto node = classes_.values[id].definition;
  return classes_.nodes[node].forward_needed || !joint_.node(node).provenance.backward;
}

/// Returns an empty string if recomputing was an option.
std::string Explainer::why_expensive(const ir::Node& node, const NodeClass& cls) const {
  const auto info = op_info(node);
  if (node.effects.random) return "random: never drawn again";
  if (cls.effectful) return "has an effect: runs once";
  if (info.recompute == ir::Recompute::Never) return "must not run twice";
  if (info.kind == ir::OpKind::Matmul) return "matrix product: expensive to recompute";
  if (ir::find_op(node.op) == nullptr && is_expensive(node))
    return "unknown op: treated as expensive to recompute";
  if (is_expensive(node)) return "expensive to recompute";
  return {};
}

std::string Explainer::why_reduction(const ir::Node& node, ir::ValueId id) const {
  const int64_t from = bytes_read(joint_, node), to = dense_bytes(joint_, id);
  if (4 * to < from) return fmt::format("reduction of {} bytes to {}: cheap to save", from, to);
  return "reduction: more expensive to recompute than to save";
}

std::string Explainer::why_saved(ir::ValueId id) const {
  const auto index = classes_.values[id].definition;
  if (!index.valid())
    return classes_.values[id].needs_copy ? "input that may be written to: a copy of its contents"
                                          : "input, saved as it is";
  if (keep(id) == Keep::Save) return "rule or policy says save";
  const auto& node = joint_.node(index);
  const auto& cls = classes_.nodes[index];
  std::string why = why_expensive(node, cls);
  if (why.empty() && limits_.level == Level::Views) why = "read by the backward pass";
  if (why.empty() && op_info(node).kind == ir::OpKind::Reduction) why = why_reduction(node, id);
  if (why.empty()) why = "fewer bytes than what it is computed from";
  if (classes_.values[id].needs_copy) return why + "; a copy, since its memory may be written to";
  if (classes_.values[id].is_returned) return why + "; alive anyway, since it is returned";
  return why;
}

std::string Explainer::why_recomputed(ir::ValueId id) const {
  const auto index = classes_.values[id].definition;
  const auto& node = joint_.node(index);
  if (keep(id) == Keep::Recompute) return "rule or policy says recompute";
  if (!classes_.nodes[index].forward_needed) return "only the backward pass needs it";
  const auto info = op_info(node);
  if (info.kind == ir::OpKind::View) return "view: costs nothing";
  if (info.kind == ir::OpKind::Factory) return "constant: made anew";
  if (limits_.level == Level::All) return "policy saves nothing that can be recomputed";
  if (!limits_.allowed.empty() && limits_.allowed[index])
    return fmt::format("budget: {:.3g} operations to save {} bytes", flops(joint_, node),
                       dense_bytes(joint_, id));
  if (info.kind == ir::OpKind::Reduction) return "result as large as what it reads, which is at hand";
  return "cheap to recompute";
}

}  // namespace

std::vector<Decision> explain(const ir::Graph& joint, const Classes& classes, const Limits& limits,
                              const Plan& plan) {
  return Explainer(joint, classes, limits, plan).run();
}

std::string print(const std::vector<Decision>& decisions) {
  size_t op = 2, scope = 5;
  for (const auto& decision : decisions) {
    op = std::max(op, decision.op.size());
    scope = std::max(scope, decision.scope.size());
  }
  std::string text;
  text += fmt::format("{:>8}  {:<9}  {:>14}  {:<{}}  {:<{}}  {}\n", "value", "decision", "bytes", "op", op,
                      "scope", scope, "reason");
  for (const auto& decision : decisions)
    text += fmt::format("{:>8}  {:<9}  {:>14}  {:<{}}  {:<{}}  {}\n",
                        fmt::format("%{}", decision.value.index), decision.saved ? "save" : "recompute",
                        decision.bytes, decision.op, op, decision.scope, scope, decision.reason);
  return text;
}

}  // namespace antegrad::partition
