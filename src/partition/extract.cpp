#include "partition/extract.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "ir/storages.h"
#include "partition/copies.h"
#include "partition/cost.h"

namespace antegrad::partition {
namespace {

class ForwardBuilder {
 public:
  ForwardBuilder(const ir::Graph& joint, const Classes& classes, const Plan& plan, Partition& out)
      : joint_(joint), classes_(classes), plan_(plan), out_(out) {}

  void build() {
    auto& graph = out_.forward;
    graph.name = joint_.name;
    graph.stage = ir::Stage::Forward;
    graph.symbols = joint_.symbols;
    graph.values = joint_.values;
    for (const auto& input : joint_.inputs)
      if (input.role != ir::InputRole::Tangent) graph.inputs.push_back(input);
    for (const auto& output : joint_.outputs)
      if (output.role != ir::OutputRole::Grad) graph.outputs.push_back(output);
    std::vector<ir::Node> copies;
    for (const auto id : plan_.saved) save(id, copies);
    add_nodes(copies);
    out_.saved_bytes = saved_bytes();
    graph.compact();
  }

 private:
  void save(ir::ValueId id, std::vector<ir::Node>& copies) {
    Saved saved;
    if (classes_.values[id].needs_copy)
      saved.output = add_output(copy_node(out_.forward, id, copies));
    else if (classes_.values[id].input >= 0)
      saved.input = classes_.values[id].input;
    else if (classes_.values[id].forward_output >= 0)
      saved.output = classes_.values[id].forward_output;
    else
      saved.output = add_output(id);
    out_.saved.push_back(saved);
  }

  int32_t add_output(ir::ValueId id) {
    out_.forward.outputs.push_back({id, ir::OutputRole::SavedTensor, {}, -1});
    return static_cast<int32_t>(out_.forward.outputs.size() - 1);
  }

  /// Adds the nodes that the outputs, the copies and the effects of the forward pass need.
  void add_nodes(std::vector<ir::Node>& copies) {
    ir::PerValue<bool> live(out_.forward.values.size());
    const auto use = [&](ir::ValueId id) { live[id] = true; };
    for (const auto& output : out_.forward.outputs)
      if (output.value.valid()) use(output.value);
    for (const auto& copy : copies) for_each_read(copy, use);
    std::vector<ir::NodeId> kept;
    for (const auto i : joint_.node_ids() | std::views::reverse) {
      const auto& cls = classes_.nodes[i];
      if (cls.backward_only) continue;
      const bool needed = std::ranges::any_of(joint_.node(i).outputs, [&](auto id) { return live[id]; });
      if (!needed && !cls.effectful) continue;
      kept.push_back(i);
      for_each_read(joint_.node(i), use);
    }
    for (const auto index : kept | std::views::reverse)
      out_.forward.add_node(joint_.node(index)).provenance.backward = false;
    for (auto& copy : copies) out_.forward.nodes.push_back(std::move(copy));
  }

  /// Counts shared memory once, and inputs not at all.
  int64_t saved_bytes() const {
    const auto& graph = out_.forward;
    ir::PerValue<bool> counted(graph.values.size());
    for (const auto& input : graph.inputs) counted[input.value] = true;
    int64_t bytes = 0;
    for (const auto& saved : out_.saved) {
      if (saved.output < 0) continue;
      const auto storage = graph.storage_of(graph.outputs[saved.output].value);
      if (!counted[storage]) bytes += storage_bytes(graph, storage);
      counted[storage] = true;
    }
    return bytes;
  }

  const ir::Graph& joint_;
  const Classes& classes_;
  const Plan& plan_;
  Partition& out_;
};

class BackwardBuilder {
 public:
  BackwardBuilder(const ir::Graph& joint, const Classes& classes, const Plan& plan, ir::Graph& graph)
      : joint_(joint),
        before_(joint),
        classes_(classes),
        plan_(plan),
        graph_(graph),
        is_saved_(joint.values.size()) {}

  void build() {
    graph_.name = joint_.name;
    graph_.stage = ir::Stage::Backward;
    graph_.symbols = joint_.symbols;
    graph_.values = joint_.values;
    for (const auto id : plan_.saved) is_saved_[id] = true;
    add_inputs();
    for (const auto index : backward_order(joint_, classes_, plan_)) add_node(joint_.node(index));
    for (const auto& output : joint_.outputs)
      if (output.role == ir::OutputRole::Grad) graph_.outputs.push_back(output);
    for (auto& output : graph_.outputs)
      if (output.value.valid() && is_none(joint_, output.value)) output.value = {};
    graph_.compact();
  }

 private:
  void add_inputs();
  void add_node(ir::Node node);
  void replace_undefined(ir::Arg& arg) const;
  ir::Value& value(ir::ValueId id) { return graph_.values[id]; }

  const ir::Graph& joint_;
  const ir::Storages before_;
  const Classes& classes_;
  const Plan& plan_;
  ir::Graph& graph_;
  ir::PerValue<bool> is_saved_;
};

/// A saved value is the base of its memory in this graph, unless another saved value on the same memory
/// precedes it.
void BackwardBuilder::add_inputs() {
  ir::PerValue<ir::ValueId> first(joint_.values.size());
  for (const auto id : plan_.saved) {
    value(id).base = {};
    if (classes_.values[id].needs_copy) {
      value(id).type = copied_type(joint_.tensor_type(id));
    } else {
      auto& on_memory = first[joint_.storage_of(id)];
      if (on_memory.valid())
        value(id).base = on_memory;
      else
        on_memory = id;
    }
    const int32_t input = classes_.values[id].input;
    graph_.inputs.push_back(
        {id, ir::InputRole::SavedTensor, input < 0 ? std::string() : joint_.inputs[input].name});
  }
  for (const auto& input : joint_.inputs)
    if (input.role == ir::InputRole::Tangent) graph_.inputs.push_back(input);
}

/// Replaces arguments that are undefined tensors, which are not passed to the backward pass, by None.
void BackwardBuilder::replace_undefined(ir::Arg& arg) const {
  if (auto* list = std::get_if<ir::Arg::List>(&arg.v))
    for (auto& element : *list) replace_undefined(element);
  const auto* id = arg.as<ir::ValueId>();
  if (id != nullptr && is_none(joint_, *id)) arg = ir::None{};
}

void BackwardBuilder::add_node(ir::Node node) {
  // A node that runs for some of its outputs also recomputes the saved ones, which stay unused.
  const auto was = node;
  for (auto& id : node.outputs)
    if (is_saved_[id]) id = graph_.add_value(joint_.type_of(id));
  // A copied tensor starts at offset 0, whatever the offset of the original.
  for (size_t i = 0; i < was.outputs.size(); ++i)
    before_.follow(graph_, was, was.outputs[i], node.outputs[i]);
  for (auto& arg : node.args) replace_undefined(arg);
  for (auto& attr : node.attrs) replace_undefined(attr.value);
  node.provenance.backward = true;
  graph_.add_node(std::move(node));
}

}  // namespace

Partition extract(const ir::Graph& joint, const Classes& classes, const Plan& plan) {
  Partition out;
  ForwardBuilder(joint, classes, plan, out).build();
  BackwardBuilder(joint, classes, plan, out.backward).build();
  return out;
}

}  // namespace antegrad::partition
