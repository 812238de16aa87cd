#include "runtime/executable.h"

#include <fmt/format.h>

#include "antegrad/error.h"
#include "capture/guards.h"
#include "ir/ops.h"
#include "runtime/instructions.h"

namespace antegrad::runtime {

namespace {

/// Whether a pointwise node reads its first argument for the last time, and gives a result of the same type.
bool may_reuse(const ir::Graph& graph, size_t index, const std::vector<int32_t>& last_use) {
  const auto& node = graph.nodes[index];
  const auto* first = node.args.empty() ? nullptr : node.args[0].as<ir::ValueId>();
  const auto* info = ir::find_op(node.op);
  if (first == nullptr || info == nullptr || info->kind != ir::OpKind::Pointwise || node.outputs.size() != 1)
    return false;
  int reads = 0;
  ir::for_each_input(node, [&](ir::ValueId v) { reads += v == *first ? 1 : 0; });
  auto type = graph.type_of(*first);
  // In-place ops of complex tensors take other ways around conjugation, with other rounding.
  if (const auto* tensor = type.tensor(); tensor == nullptr || ir::is_complex(tensor->dtype)) return false;
  if (auto* tensor = std::get_if<ir::TensorType>(&type.v)) tensor->offset = 0;
  return reads == 1 && last_use[static_cast<size_t>(first->index)] == static_cast<int32_t>(index) &&
         type == graph.type_of(node.outputs[0]);
}

}  // namespace

Executable::Executable(const ir::Graph& graph) {
  // Registers are values numbered anew: a graph may have holes after its passes.
  std::vector<int32_t> register_of(graph.values.size(), -1);
  auto allocate = [&](ir::ValueId value) {
    auto& slot = register_of[static_cast<size_t>(value.index)];
    if (slot < 0) slot = static_cast<int32_t>(register_count_++);
    return slot;
  };
  std::vector<int32_t> last_use(graph.values.size(), -1);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto& node = graph.nodes[i];
    ir::for_each_input(
        node, [&](ir::ValueId v) { last_use[static_cast<size_t>(v.index)] = static_cast<int32_t>(i); });
    for (auto v : node.outputs) last_use[static_cast<size_t>(v.index)] = static_cast<int32_t>(i);
  }
  for (const auto& output : graph.outputs)
    if (output.value.valid())
      last_use[static_cast<size_t>(output.value.index)] = static_cast<int32_t>(graph.nodes.size());

  for (const auto& input : graph.inputs)
    inputs_.push_back(last_use[static_cast<size_t>(input.value.index)] < 0 ? -1 : allocate(input.value));
  std::vector<std::vector<int32_t>> dying(graph.nodes.size() + 1);
  for (const auto& node : graph.nodes)
    for (auto v : node.outputs) allocate(v);
  for (size_t v = 0; v < last_use.size(); ++v)
    if (last_use[v] >= 0 && register_of[v] >= 0)
      dying[static_cast<size_t>(last_use[v])].push_back(register_of[v]);
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    entries_.push_back({make_instruction(graph.nodes[i], graph, register_of, may_reuse(graph, i, last_use)),
                        std::move(dying[i])});
  for (const auto& output : graph.outputs)
    outputs_.push_back(output.value.valid() ? register_of[static_cast<size_t>(output.value.index)] : -1);
}

void Executable::run(c10::ArrayRef<at::Tensor> inputs, std::vector<at::Tensor>& outputs) const {
  Registers registers(register_count_);
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (inputs_[i] >= 0) registers[static_cast<size_t>(inputs_[i])] = inputs[i];
  run(registers, outputs);
}

void Executable::run(std::vector<at::Tensor>&& inputs, std::vector<at::Tensor>& outputs) const {
  Registers registers(register_count_);
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (inputs_[i] >= 0) registers[static_cast<size_t>(inputs_[i])] = std::move(inputs[i]);
  inputs.clear();
  run(registers, outputs);
}

void Executable::run(Registers& registers, std::vector<at::Tensor>& outputs) const {
  {
    capture::BelowRecording below;
    for (const auto& entry : entries_) {
      entry.instruction->run(registers);
      for (auto slot : entry.dying) registers[static_cast<size_t>(slot)] = at::Tensor();
    }
  }
  outputs.reserve(outputs_.size());
  for (auto slot : outputs_)
    outputs.push_back(slot < 0 ? at::Tensor() : registers[static_cast<size_t>(slot)]);
}

}  // namespace antegrad::runtime
