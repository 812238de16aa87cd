#include "compiler/function/replay.h"

#include <ATen/ScalarOps.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <optional>

#include "antegrad/error.h"
#include "antegrad/options.h"
#include "aten/convert.h"
#include "capture/scope.h"
#include "compiler/regions/emit.h"
#include "runtime/instructions.h"

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
    count += list ? std::max(0, node.returns[at]) : 1;
    ++at;
  }
  return count;
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

Replay::Replay(const Piece& piece, bool any_reals, SizeRules rules)
    : types_(piece.stretch.graph.values),
      value_count_(piece.stretch.graph.values.size()),
      any_reals_(any_reals),
      rules_(std::move(rules)),
      inputs_(piece.stretch.input_values),
      outputs_(piece.stretch.outputs),
      requires_grad_(piece.stretch.requires_grad) {
  const auto& stretch = piece.stretch;
  requires_grad_.resize(piece.outputs_of_call);
  const auto read = read_values(stretch);
  size_t next_integer = 0;
  for (const auto& node : stretch.graph.nodes) {
    Step step{node, nullptr, stretch.histories && node.provenance.sequence >= 0};
    if (node.op == kAlias) {
      if (read[node.outputs[0]]) steps_.push_back(std::move(step));
      continue;
    }
    step.schema = aten::find_schema(node.op);
    if (step.schema == nullptr) {
      steps_.push_back(std::move(step));
      continue;
    }
    const auto returned_arguments = std::count_if(
        step.schema->return_is_arg.begin(), step.schema->return_is_arg.end(), [](int a) { return a >= 0; });
    const auto own = own_outputs(node, *step.schema);
    step.changes_arguments = node.outputs.size() > own;
    if (step.changes_arguments && node.outputs.size() != own + returned_arguments)
      throw Error(ErrorCode::UnsupportedOp, "break:" + node.op,
                  "it changes the shapes of some of its results", "Call it with results of the right shape");
    if (any_reals_) take_reals(step);
    take_integers(step, next_integer);
    steps_.push_back(std::move(step));
  }
}

void Replay::take_reals(Step& step) {
  const auto* other = with_tensor_for_number(step.node.op);
  if (other != nullptr && step.node.args.size() > 1 && step.node.args[1].as<double>() != nullptr) {
    const ir::ValueId value(static_cast<int32_t>(value_count_++));
    inputs_.push_back(value);
    is_tensor_.push_back(true);
    step.node.args[1] = value;
    step.schema = other;
  }
  for_each_real(step.node, [&](double) {
    step.has_reals = true;
    is_tensor_.push_back(false);
  });
}

void Replay::take_integers(Step& step, size_t& next_integer) {
  step.first_integer = next_integer;
  for_each_integer(step.node, [&](const ir::Dim&) {
    step.has_integers |= next_integer < rules_.size() && rules_[next_integer].has_value();
    ++next_integer;
  });
}

Replay::Inputs Replay::inputs_of(std::vector<at::Tensor> tensors, std::span<const double> reals) const {
  Inputs inputs{std::move(tensors), {}};
  for (size_t i = 0; any_reals_ && i < reals.size(); ++i) {
    if (is_tensor_[i])
      inputs.tensors.push_back(wrapped(reals[i]));
    else
      inputs.numbers.push_back(reals[i]);
  }
  return inputs;
}

/// A constant has a tensor of its own in each run, so that a capture finds it to be one.
void Replay::run_own(const ir::Node& node, const ir::PerValue<ir::Value>& types,
                     ir::PerValue<at::Tensor>& values) {
  if (node.op == "antegrad.constant") {
    values[node.outputs[0]] = runtime::constant_tensor(node, *types[node.outputs[0]].type.tensor());
    return;
  }
  std::vector<at::Tensor> operands;
  for (auto value : operands_of(node)) operands.push_back(values[value]);
  const auto results = call_region(node, operands);
  for (size_t i = 0; i < results.size(); ++i) values[node.outputs[i]] = results[i];
}

void Replay::run(const Step& step, ir::PerValue<at::Tensor>& values) const {
  const auto& node = step.node;
  if (step.schema == nullptr && node.op != kAlias) {
    const c10::AutoGradMode grad_mode(step.grad_mode);
    return run_own(node, types_, values);
  }
  if (step.schema == nullptr) {
    const auto& source = values[*node.args[0].as<ir::ValueId>()];
    values[node.outputs[0]] = node.attrs.empty() ? source.variable_data() : source;
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
  const auto sizes = rules_.empty() ? InputSizes() : sizes_of(tensors);
  size_t next_real = 0;
  for (const auto& step : steps_) {
    if (!step.has_reals && !step.has_integers) {
      run(step, values);
      continue;
    }
    auto filled = step;
    if (step.has_reals) for_each_real(filled.node, [&](double& number) { number = numbers[next_real++]; });
    size_t integer = step.first_integer;
    if (step.has_integers)
      for_each_integer(filled.node, [&](ir::Dim& number) {
        if (const auto& rule = rules_[integer++]) number = ir::Dim(rule->value(sizes));
      });
    run(filled, values);
  }
  std::vector<at::Tensor> outputs;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    auto output = values[outputs_[i]];
    const bool known = i < requires_grad_.size();
    if (known && requires_grad_[i] && !output.requires_grad())
      throw Error(ErrorCode::Internal, "break", "a tensor has lost its history at a graph break");
    outputs.push_back(known && !requires_grad_[i] && output.requires_grad() ? output.detach() : output);
  }
  return outputs;
}

}  // namespace antegrad::compiler
