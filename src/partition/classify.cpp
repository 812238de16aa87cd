#include "partition/classify.h"

#include <fmt/format.h>

#include <ranges>

#include "antegrad/error.h"
#include "ir/calls.h"

namespace antegrad::partition {
namespace {

class Classifier {
 public:
  Classifier(const ir::Graph& joint, Inputs inputs) : joint_(joint), inputs_(inputs) {
    out_.nodes.resize(joint.nodes.size());
    out_.values.resize(joint.values.size());
  }

  Classes run() {
    find_definitions();
    find_backward_only();
    check_outputs();
    find_needed();
    find_eager_reads();
    find_shared_memory();
    return std::move(out_);
  }

 private:
  void find_definitions();
  void find_backward_only();
  void check_outputs() const;
  void find_needed();
  void find_eager_reads();
  void find_shared_memory();

  bool is_guarded(const ir::Input& input) const;

  const ir::Graph& joint_;
  const Inputs inputs_;
  Classes out_;
};

void Classifier::find_definitions() {
  for (size_t i = 0; i < joint_.inputs.size(); ++i)
    out_.values[joint_.inputs[i].value].input = static_cast<int32_t>(i);
  for (const auto i : joint_.node_ids())
    for (const auto id : joint_.node(i).outputs) out_.values[id].definition = i;
  int32_t index = 0;
  for (const auto& output : joint_.outputs) {
    if (output.role == ir::OutputRole::Grad) continue;
    if (output.value.valid() && out_.values[output.value].forward_output < 0)
      out_.values[output.value].forward_output = index;
    ++index;
  }
}

void Classifier::find_backward_only() {
  for (const auto& input : joint_.inputs)
    if (input.role == ir::InputRole::Tangent) out_.values[input.value].backward_only = true;
  for (const auto i : joint_.node_ids()) {
    const auto& node = joint_.node(i);
    auto& cls = out_.nodes[i];
    cls.effectful = node.effects.random || node.effects.ordered;
    cls.backward_only = cls.effectful && node.provenance.backward;
    for_each_read(node, [&](ir::ValueId id) { cls.backward_only |= out_.values[id].backward_only; });
    if (cls.backward_only && cls.effectful && !node.provenance.backward)
      throw Error(
          ErrorCode::InvalidArgument, "partition:" + node.op,
          fmt::format("node {} has an effect in the forward pass and reads a value of the backward pass",
                      i.index));
    for (const auto id : node.outputs) out_.values[id].backward_only = cls.backward_only;
  }
}

void Classifier::check_outputs() const {
  for (size_t i = 0; i < joint_.outputs.size(); ++i) {
    const auto& output = joint_.outputs[i];
    if (output.role == ir::OutputRole::Grad || !output.value.valid()) continue;
    if (out_.values[output.value].backward_only)
      throw Error(
          ErrorCode::InvalidArgument, "partition",
          fmt::format("output {} (%{}) of the forward pass depends on tangents", i, output.value.index));
  }
}

void Classifier::find_needed() {
  ir::PerValue<bool> forward(joint_.values.size()), backward(joint_.values.size());
  for (const auto& output : joint_.outputs)
    if (output.value.valid()) (output.role == ir::OutputRole::Grad ? backward : forward)[output.value] = true;
  for (const auto i : joint_.node_ids() | std::views::reverse) {
    const auto& node = joint_.node(i);
    auto& cls = out_.nodes[i];
    auto& needed = cls.backward_only ? cls.backward_needed : cls.forward_needed;
    auto& live = cls.backward_only ? backward : forward;
    needed = cls.effectful;
    for (const auto id : node.outputs) needed |= live[id];
    if (needed) for_each_read(node, [&](ir::ValueId id) { live[id] = true; });
  }
  for (const auto i : joint_.values.ids())
    out_.values[i].demanded = backward[i] && !out_.values[i].backward_only;
}

void Classifier::find_eager_reads() {
  for (const auto i : joint_.node_ids())
    if (joint_.node(i).provenance.backward || out_.nodes[i].backward_only)
      ir::for_each_eager_read(joint_.node(i), [&](ir::ValueId id) {
        if (!out_.values[id].backward_only) out_.values[id].eager_reads = true;
      });
  for (const auto& output : joint_.outputs)
    if (output.role == ir::OutputRole::Grad && output.value.valid() && out_.values[output.value].demanded)
      out_.values[output.value].eager_reads = true;
}

bool Classifier::is_guarded(const ir::Input& input) const {
  if (inputs_ == Inputs::Fixed) return false;
  return input.role == ir::InputRole::UserInput || input.role == ir::InputRole::Buffer ||
         input.role == ir::InputRole::Constant;
}

void Classifier::find_shared_memory() {
  const size_t count = joint_.values.size();
  ir::PerValue<bool> overwritten(count), guarded(count), returned(count), read(count);
  const auto mark = [&](ir::PerValue<bool>& storages, ir::ValueId id) {
    storages[joint_.storage_of(id)] = true;
  };
  for (const auto& input : joint_.inputs)
    if (is_guarded(input)) mark(guarded, input.value);
  for (const auto& output : joint_.outputs) {
    if (output.role == ir::OutputRole::MutatedInput)
      mark(overwritten, joint_.inputs[output.target].value);
    else if (output.role != ir::OutputRole::Grad && output.value.valid())
      mark(returned, output.value);
  }
  for (const auto i : joint_.values.ids())
    if (out_.values[i].eager_reads) mark(read, i);
  for (const auto i : joint_.values.ids()) {
    const auto storage = joint_.storage_of(i);
    out_.values[i].eager_detects_writes = read[storage];
    out_.values[i].is_returned = out_.values[storage].input < 0 && returned[storage];
    const bool exposed = out_.values[i].is_returned || guarded[storage];
    out_.values[i].needs_copy = overwritten[storage] || (exposed && !read[storage]);
  }
}

}  // namespace

Classes classify(const ir::Graph& joint, Inputs inputs) { return Classifier(joint, inputs).run(); }

bool is_none(const ir::Graph& graph, ir::ValueId id) {
  const auto* kind = std::get_if<ir::ScalarKind>(&graph.type_of(id).v);
  return kind != nullptr && *kind == ir::ScalarKind::None;
}

}  // namespace antegrad::partition
