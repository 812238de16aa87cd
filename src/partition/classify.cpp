#include "partition/classify.h"

#include <fmt/format.h>

#include "antegrad/error.h"

namespace antegrad::partition {
namespace {

class Classifier {
 public:
  Classifier(const ir::Graph& joint, Inputs inputs) : joint_(joint), inputs_(inputs) {
    const size_t values = joint.values.size();
    out_.nodes.resize(joint.nodes.size());
    for (auto* of_value : {&out_.definition, &out_.input, &out_.forward_output}) of_value->assign(values, -1);
    for (auto* of_value : {&out_.backward_only, &out_.demanded, &out_.eager_reads, &out_.eager_watches,
                           &out_.needs_copy, &out_.is_returned})
      of_value->assign(values, false);
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
    out_.input[at(joint_.inputs[i].value)] = static_cast<int32_t>(i);
  for (size_t i = 0; i < joint_.nodes.size(); ++i)
    for (const auto id : joint_.nodes[i].outputs) out_.definition[at(id)] = static_cast<int32_t>(i);
  int32_t index = 0;
  for (const auto& output : joint_.outputs) {
    if (output.role == ir::OutputRole::Grad) continue;
    if (output.value.valid() && out_.forward_output[at(output.value)] < 0)
      out_.forward_output[at(output.value)] = index;
    ++index;
  }
}

void Classifier::find_backward_only() {
  for (const auto& input : joint_.inputs)
    if (input.role == ir::InputRole::Tangent) out_.backward_only[at(input.value)] = true;
  for (size_t i = 0; i < joint_.nodes.size(); ++i) {
    const auto& node = joint_.nodes[i];
    auto& cls = out_.nodes[i];
    cls.effectful = node.effects.random || node.effects.ordered;
    cls.backward_only = cls.effectful && node.provenance.backward;
    for_each_read(node, [&](ir::ValueId id) { cls.backward_only |= out_.backward_only[at(id)]; });
    if (cls.backward_only && cls.effectful && !node.provenance.backward)
      throw Error(
          ErrorCode::InvalidArgument, "partition:" + node.op,
          fmt::format("node {} has an effect in the forward pass and reads a value of the backward pass", i));
    for (const auto id : node.outputs) out_.backward_only[at(id)] = cls.backward_only;
  }
}

void Classifier::check_outputs() const {
  for (size_t i = 0; i < joint_.outputs.size(); ++i) {
    const auto& output = joint_.outputs[i];
    if (output.role == ir::OutputRole::Grad || !output.value.valid()) continue;
    if (out_.backward_only[at(output.value)])
      throw Error(
          ErrorCode::InvalidArgument, "partition",
          fmt::format("output {} (%{}) of the forward pass depends on tangents", i, output.value.index));
  }
}

void Classifier::find_needed() {
  std::vector<bool> forward(joint_.values.size()), backward(joint_.values.size());
  for (const auto& output : joint_.outputs)
    if (output.value.valid())
      (output.role == ir::OutputRole::Grad ? backward : forward)[at(output.value)] = true;
  for (size_t i = joint_.nodes.size(); i-- > 0;) {
    const auto& node = joint_.nodes[i];
    auto& cls = out_.nodes[i];
    auto& needed = cls.backward_only ? cls.backward_needed : cls.forward_needed;
    auto& live = cls.backward_only ? backward : forward;
    needed = cls.effectful;
    for (const auto id : node.outputs) needed |= live[at(id)];
    if (needed) for_each_read(node, [&](ir::ValueId id) { live[at(id)] = true; });
  }
  for (size_t i = 0; i < backward.size(); ++i) out_.demanded[i] = backward[i] && !out_.backward_only[i];
}

void Classifier::find_eager_reads() {
  for (size_t i = 0; i < joint_.nodes.size(); ++i)
    if (joint_.nodes[i].provenance.backward || out_.nodes[i].backward_only)
      for_each_read(joint_.nodes[i], [&](ir::ValueId id) {
        if (!out_.backward_only[at(id)]) out_.eager_reads[at(id)] = true;
      });
  for (size_t i = 0; i < joint_.values.size(); ++i)
    if (out_.demanded[i]) out_.eager_reads[i] = true;
}

bool Classifier::is_guarded(const ir::Input& input) const {
  if (inputs_ == Inputs::Fixed) return false;
  return input.role == ir::InputRole::UserInput || input.role == ir::InputRole::Buffer ||
         input.role == ir::InputRole::Constant;
}

void Classifier::find_shared_memory() {
  const size_t count = joint_.values.size();
  std::vector<bool> overwritten(count), guarded(count), returned(count), read(count);
  const auto mark = [&](std::vector<bool>& storages, ir::ValueId id) {
    storages[at(joint_.storage_of(id))] = true;
  };
  for (const auto& input : joint_.inputs)
    if (is_guarded(input)) mark(guarded, input.value);
  for (const auto& output : joint_.outputs) {
    if (output.role == ir::OutputRole::MutatedInput)
      mark(overwritten, joint_.inputs[static_cast<size_t>(output.target)].value);
    else if (output.role != ir::OutputRole::Grad && output.value.valid())
      mark(returned, output.value);
  }
  for (size_t i = 0; i < count; ++i)
    if (out_.eager_reads[i]) mark(read, {static_cast<int32_t>(i)});
  for (size_t i = 0; i < count; ++i) {
    const size_t storage = at(joint_.storage_of({static_cast<int32_t>(i)}));
    out_.eager_watches[i] = read[storage];
    out_.is_returned[i] = out_.input[storage] < 0 && returned[storage];
    const bool exposed = out_.is_returned[i] || guarded[storage];
    out_.needs_copy[i] = overwritten[storage] || (exposed && !read[storage]);
  }
}

}  // namespace

Classes classify(const ir::Graph& joint, Inputs inputs) { return Classifier(joint, inputs).run(); }

bool is_none(const ir::Graph& graph, ir::ValueId id) {
  const auto* kind = std::get_if<ir::ScalarKind>(&graph.type_of(id).v);
  return kind != nullptr && *kind == ir::ScalarKind::None;
}

}  // namespace antegrad::partition
