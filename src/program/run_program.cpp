#include <ATen/Functions.h>

#include "antegrad/function.h"
#include "aten/below_recording.h"
#include "program/interpreter.h"
#include "program/program_state.h"

namespace antegrad::program {
namespace {

bool is_written(const ProgramData& data, const InputSpec& input) {
  for (const auto& output : data.outputs) {
    const bool same_kind =
        (output.kind == OutputSpec::Kind::BufferWrite && input.kind == InputSpec::Kind::Buffer) ||
        (output.kind == OutputSpec::Kind::ParameterWrite && input.kind == InputSpec::Kind::Parameter) ||
        (output.kind == OutputSpec::Kind::InputWrite && input.kind == InputSpec::Kind::User);
    if (same_kind && output.name == input.name) return true;
  }
  return false;
}

/// What a graph is given for one of its inputs. `own` is the tensor of the caller or the state.
Slot input_slot(const ProgramData& data, const InputSpec& input, const c10::IValue& own) {
  // The graph reads the old contents, also in its backward pass, which comes after the write.
  if (own.isTensor() && is_written(data, input)) return {own.toTensor().clone(), {}};
  if (detail::capturing() && input.kind == InputSpec::Kind::Constant &&
      own.toTensor().numel() <= kMostKnown && own.toTensor().device().is_cpu()) {
    const aten::BelowRecording unrecorded;
    return {own, own.toTensor().clone()};  // ops may write to it
  }
  return {own, {}};
}

}  // namespace

c10::IValue run_program(const ProgramData& data, const std::vector<c10::IValue>& leaves,
                        const std::map<std::string, at::Tensor>& replaced) {
  std::vector<Slot> inputs;
  std::map<std::string, at::Tensor> users;
  size_t next = 0;
  for (const auto& input : data.inputs) {
    c10::IValue own;
    if (input.kind == InputSpec::Kind::Number) {
      own = input.constant;
    } else if (input.kind == InputSpec::Kind::User) {
      own = leaves.at(next++);
      if (own.isTensor()) users[input.name] = own.toTensor();
    } else {
      const auto other = replaced.find(input.name);
      own = other != replaced.end() ? other->second : data.state.at(input.name).tensor;
    }
    inputs.push_back(input_slot(data, input, own));
  }
  auto outputs = run_graph(data.graph, std::move(inputs));
  std::vector<c10::IValue> results;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto& spec = data.outputs[i];
    if (spec.kind == OutputSpec::Kind::User) {
      results.push_back(std::move(outputs[i].value));
      continue;
    }
    const auto target =
        spec.kind == OutputSpec::Kind::InputWrite ? users.at(spec.name) : data.state.at(spec.name).tensor;
    target.copy_(outputs[i].value.toTensor());
  }
  size_t first = 0;
  return unflatten(data.result, results, first);
}

}  // namespace antegrad::program
