#include "compiler/function/replay.h"

#include <ATen/ScalarOps.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <optional>

#include "antegrad/error.h"
#include "antegrad/options.h"
#include "aten/convert.h"
#include "capture/scope.h"

namespace antegrad::compiler {
namespace {

constexpr const char* kAlias = "antegrad.alias";

/// Values that something reads. Autograd makes aliases of what it saves, which nothing else reads.
ir::PerValue<bool> read_values(const capture::Stretch& stretch) {
  ir::PerValue<bool> read(stretch.graph.values.size(), false);
  for (const auto& node : stretch.graph.nodes) {
    ir::for_each_input(node, [&](ir::ValueId v) { read[v] = true; });
    for (auto v : node.effects.writes) read[v] = true;
  }
  for (auto v : stretch.outputs) read[v] = true;
  return read;
}

/// Number of outputs of a node that are not arguments of the op.
size_t own_outputs(const ir::Node& node, const aten::OpSchema& schema) {
  size_t count = 0;
  size_t at = 0;
  for (size_t i = 0; i < schema.returns.size(); ++i) {
    const bool is_tensor =
        schema.returns[i] == aten::ArgKind::Tensor || schema.returns[i] == aten::ArgKind::TensorList;
    if (schema.return_is_arg[i] >= 0 || !is_tensor) continue;
    const bool list = schema.returns[i] == aten::ArgKind::TensorList && at < node.returns.size();
    count += list ? static_cast<size_t>(std::max(0, node.returns[at])) : 1;
    ++at;
  }
  return count;
}

/// Calls `visit` with each real number among the arguments.
template <class Node, class Visit>
void for_each_number(Node& node, const Visit& visit) {
  for (auto& arg : node.args)
    if (auto* number = std::get_if<double>(&arg.v)) visit(*number);
  for (auto& attr : node.attrs)
    if (auto* number = std::get_if<double>(&attr.value.v)) visit(*number);
}

/// The form of an op that takes a tensor where this one takes a number as its second argument, and does the
/// same with it; null when there is none.
const aten::OpSchema* with_tensor_for_number(const std::string& op) {
  constexpr std::string_view kSuffix = ".Scalar";
  static constexpr std::string_view kOps[] = {"add",  "sub", "mul", "div", "rsub", "add_", "sub_", "mul_",
                                              "div_", "eq",  "ne",  "lt",  "le",   "gt",   "ge"};
  const std::string_view name = op;
  if (!name.starts_with("aten.") || !name.ends_with(kSuffix)) return nullptr;
  const auto base = name.substr(5, name.size() - 5 - kSuffix.size());
  if (std::find(std::begin(kOps), std::end(kOps), base) == std::end(kOps)) return nullptr;
  return aten::find_schema("aten." + std::string(base) + ".Tensor");
}

at::Tensor wrapped(double number) {
  auto tensor = c10::scalar_to_tensor(number);
  tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

}  // namespace

std::vector<double> numbers_of(const capture::Stretch& stretch) {
  std::vector<double> numbers;
  for (const auto& node : stretch.graph.nodes)
    for_each_number(node, [&](double number) { numbers.push_back(number); });
  return numbers;
}

Replay::Replay(const capture::Stretch& stretch, bool general)
    : value_count_(stretch.graph.values.size()),
      general_(general),
      inputs_(stretch.input_values),
      outputs_(stretch.outputs),
      requires_grad_(stretch.requires_grad) {
  const auto read = read_values(stretch);
  for (const auto& node : stretch.graph.nodes) {
    Step step{node, nullptr, stretch.histories && node.provenance.sequence >= 0, false, false};
    if (node.op == kAlias) {
      if (read[node.outputs[0]]) steps_.push_back(std::move(step));
      continue;
    }
    step.schema = aten::find_schema(node.op);
    const auto returned_arguments = std::count_if(
        step.schema->return_is_arg.begin(), step.schema->return_is_arg.end(), [](int a) { return a >= 0; });
    const auto own = own_outputs(node, *step.schema);
    step.changes_arguments = node.outputs.size() > own;
    if (step.changes_arguments && node.outputs.size() != own + static_cast<size_t>(returned_arguments))
      throw Error(ErrorCode::UnsupportedOp, "break:" + node.op,
                  "it changes the shapes of some of its results", "Call it with results of the right shape");
    if (general_) take_numbers(step);
    steps_.push_back(std::move(step));
  }
}

void Replay::take_numbers(Step& step) {
  const auto* other = with_tensor_for_number(step.node.op);
  if (other != nullptr && step.node.args.size() > 1 && step.node.args[1].as<double>() != nullptr) {
    const ir::ValueId value(static_cast<int32_t>(value_count_++));
    inputs_.push_back(value);
    is_tensor_.push_back(true);
    step.node.args[1] = value;
    step.schema = other;
  }
  for_each_number(step.node, [&](double) {
    step.has_numbers = true;
    is_tensor_.push_back(false);
  });
}

Replay::Inputs Replay::inputs_of(const capture::Stretch& stretch) const {
  Inputs inputs{stretch.inputs, {}};
  if (!general_) return inputs;
  const auto numbers = numbers_of(stretch);
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (is_tensor_[i])
      inputs.tensors.push_back(wrapped(numbers[i]));
    else
      inputs.numbers.push_back(numbers[i]);
  }
  return inputs;
}

void Replay::run(const Step& step, const std::vector<double>& numbers, size_t& next_number,
                 ir::PerValue<at::Tensor>& values) const {
  if (step.has_numbers) {
    auto filled = step;
    filled.has_numbers = false;
    for_each_number(filled.node, [&](double& number) { number = numbers[next_number++]; });
    return run(filled, numbers, next_number, values);
  }
  const auto& node = step.node;
  if (step.schema == nullptr) {
    values[node.outputs[0]] = values[*node.args[0].as<ir::ValueId>()].variable_data();
    return;
  }
  const c10::AutoGradMode grad_mode(step.grad_mode);
  std::optional<Scope> scope;
  if (node.provenance.scope != capture::current_scope()) scope.emplace(node.provenance.scope);
  auto stack = aten::boxed_arguments(node, *step.schema, [&](ir::ValueId v) { return values[v]; });
  step.schema->handle.callBoxed(stack);
  size_t next = 0;
  const auto take = [&](const at::Tensor& result) {
    if (next < node.outputs.size()) values[node.outputs[next++]] = result;
  };
  for (size_t i = 0; i < stack.size(); ++i) {
    if (step.schema->return_is_arg[i] >= 0 && !step.changes_arguments) continue;
    if (stack[i].isTensor()) take(stack[i].toTensor());
    if (stack[i].isTensorList())
      for (const at::Tensor& tensor : stack[i].toTensorVector()) take(tensor);
  }
}

std::vector<at::Tensor> Replay::operator()(const std::vector<at::Tensor>& tensors,
                                           const std::vector<double>& numbers) const {
  ir::PerValue<at::Tensor> values(value_count_);
  for (size_t i = 0; i < inputs_.size(); ++i) values[inputs_[i]] = tensors[i];
  size_t next_number = 0;
  for (const auto& step : steps_) run(step, numbers, next_number, values);
  std::vector<at::Tensor> outputs;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    auto output = values[outputs_[i]];
    if (requires_grad_[i] && !output.requires_grad())
      throw Error(ErrorCode::Internal, "break", "a tensor has lost its history at a graph break");
    outputs.push_back(!requires_grad_[i] && output.requires_grad() ? output.detach() : output);
  }
  return outputs;
}

}  // namespace antegrad::compiler
