#include "runtime/comparison.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "antegrad/error.h"
#include "ir/text.h"
#include "runtime/placement.h"

namespace antegrad::runtime {
namespace {

/// What roundings may add up to, relative to the largest number in sight.
double tolerance_of(ir::DType dtype) {
  switch (dtype) {
    case ir::DType::F64:
      return 1e-9;
    case ir::DType::F32:
      return 2e-4;
    case ir::DType::F16:
      return 1e-2;
    case ir::DType::BF16:
      return 5e-2;
    default:
      return 0;
  }
}

/// Of the coarsest type that anything is computed in: what is rounded to f32 on the way is no better as f64.
double tolerance_of(const ir::Graph& nodes) {
  double coarsest = 0;
  for (const auto& node : nodes.nodes)
    for (auto v : node.outputs)
      if (const auto* tensor = std::get_if<ir::TensorType>(&nodes.type_of(v).v))
        coarsest = std::max(coarsest, tolerance_of(tensor->dtype));
  return coarsest;
}

/// The flat index of an element that differs by more than roundings; -1: there is none.
int64_t first_difference(const at::Tensor& expected, const at::Tensor& actual, double tolerance) {
  if (expected.numel() == 0) return -1;
  at::Tensor differs;
  if (!at::isFloatingType(expected.scalar_type())) {
    differs = expected.ne(actual);
  } else {
    const auto a = expected.to(at::kDouble);
    const auto b = actual.to(at::kDouble);
    const auto finite = a.isfinite();
    const auto scale = at::where(finite, a.abs(), 0).max();
    const auto near = (a - b).abs().le(tolerance * scale);
    differs = at::where(finite, near, a.eq(b).logical_or(a.isnan().logical_and(b.isnan()))).logical_not();
  }
  differs = differs.reshape({-1});
  return differs.any().item<bool>() ? differs.to(at::kByte).argmax().item<int64_t>() : -1;
}

std::string value_at(const at::Tensor& tensor, int64_t index) {
  const auto element = tensor.reshape({-1})[index];
  return at::isFloatingType(element.scalar_type()) ? fmt::format("{}", element.item<double>())
                                                   : fmt::format("{}", element.item<int64_t>());
}

/// What a kernel writes.
std::vector<ir::ValueId> written_by(const schedule::Program& program, const schedule::RunKernel& call) {
  const auto& kernel = program.kernels[static_cast<size_t>(call.kernel)];
  const auto passed = passed_buffers(kernel);
  std::vector<ir::ValueId> values;
  for (size_t b = 0; b < passed.size(); ++b)
    if (kernel.buffers[static_cast<size_t>(passed[b])].kind == schedule::Buffer::Kind::Output)
      values.push_back(call.buffers[b]);
  return values;
}

std::vector<int32_t> registers_of(const std::vector<ir::ValueId>& values, const RegisterMap& register_of) {
  std::vector<int32_t> slots;
  for (auto v : values) slots.push_back(register_of[static_cast<size_t>(v.index)]);
  return slots;
}

}  // namespace

Comparison::Comparison(std::string kernel, const ir::Graph& nodes, const RegisterMap& register_of)
    : kernel_(std::move(kernel)), text_(ir::print(nodes)), tolerance_(tolerance_of(nodes)), expected_(nodes) {
  std::vector<ir::ValueId> inputs, outputs;
  for (const auto& input : nodes.inputs) inputs.push_back(input.value);
  for (const auto& output : nodes.outputs) outputs.push_back(output.value);
  inputs_ = registers_of(inputs, register_of);
  outputs_ = registers_of(outputs, register_of);
}

void Comparison::run(const Registers& registers) const {
  std::vector<at::Tensor> inputs, expected;
  for (auto slot : inputs_) inputs.push_back(registers[static_cast<size_t>(slot)]);
  expected_.run(inputs, expected);
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const auto& actual = registers[static_cast<size_t>(outputs_[i])];
    const auto index = first_difference(expected[i], actual, tolerance_);
    if (index < 0) continue;
    throw Error(
        ErrorCode::Internal, "compare:" + kernel_,
        fmt::format("output {}, element {}: the kernel gives {}, LibTorch gives {}; it stands for\n{}", i,
                    index, value_at(actual, index), value_at(expected[i], index), text_),
        "Use Backend::NoFuse or Backend::Eager, and report it");
  }
}

ComparisonMaker::ComparisonMaker(const schedule::Program& program, const RegisterMap& register_of)
    : program_(program), register_of_(register_of) {
  producer_.assign(program.graph.values.size(), -1);
  known_.resize(program.graph.values.size());
  for (size_t n = 0; n < program.graph.nodes.size(); ++n)
    for (auto v : program.graph.nodes[n].outputs)
      producer_[static_cast<size_t>(v.index)] = static_cast<int32_t>(n);
  for (const auto& input : program.graph.inputs) known_[static_cast<size_t>(input.value.index)] = true;
  last_.resize(program.graph.values.size());
  for (size_t s = 0; s < program.steps.size(); ++s)
    if (const auto* call = std::get_if<schedule::RunKernel>(&program.steps[s]))
      for (auto v : written_by(program, *call)) last_[static_cast<size_t>(v.index)] = s;
}

std::vector<ir::ValueId> ComparisonMaker::finished_by(size_t step) const {
  auto values = written_by(program_, std::get<schedule::RunKernel>(program_.steps[step]));
  std::erase_if(values, [&](ir::ValueId v) {
    const auto index = static_cast<size_t>(v.index);
    return producer_[index] < 0 || last_[index] != step;
  });
  return values;
}

/// The nodes from known values to these.
ir::Graph ComparisonMaker::slice(const std::vector<ir::ValueId>& outputs) const {
  const auto& graph = program_.graph;
  std::vector<bool> node_needed(graph.nodes.size()), input_needed(graph.values.size());
  auto need = [&](auto&& self, ir::ValueId v) -> void {
    const auto index = static_cast<size_t>(v.index);
    if (known_[index]) {
      input_needed[index] = true;
      return;
    }
    const auto n = static_cast<size_t>(producer_[index]);
    if (node_needed[n]) return;
    node_needed[n] = true;
    ir::for_each_input(graph.nodes[n], [&](ir::ValueId read) { self(self, read); });
  };
  for (auto v : outputs) need(need, v);
  ir::Graph part;
  part.name = graph.name;
  part.stage = ir::Stage::Functional;
  part.symbols = graph.symbols;
  part.values = graph.values;
  for (size_t v = 0; v < input_needed.size(); ++v)
    if (input_needed[v])
      part.inputs.push_back({ir::ValueId{static_cast<int32_t>(v)}, ir::InputRole::UserInput, {}});
  for (size_t n = 0; n < graph.nodes.size(); ++n)
    if (node_needed[n]) part.nodes.push_back(graph.nodes[n]);
  for (auto v : outputs) part.outputs.push_back({v, ir::OutputRole::UserOutput, {}, -1});
  return part;
}

std::unique_ptr<Comparison> ComparisonMaker::next(size_t step) {
  if (const auto* run = std::get_if<schedule::RunNode>(&program_.steps[step])) {
    for (auto v : program_.graph.nodes[static_cast<size_t>(run->node)].outputs)
      known_[static_cast<size_t>(v.index)] = true;
    return nullptr;
  }
  const auto& call = std::get<schedule::RunKernel>(program_.steps[step]);
  const auto& kernel = program_.kernels[static_cast<size_t>(call.kernel)];
  const auto outputs = finished_by(step);
  if (outputs.empty()) return nullptr;
  auto comparison = std::make_unique<Comparison>(kernel.name, slice(outputs), register_of_);
  for (auto v : outputs) known_[static_cast<size_t>(v.index)] = true;
  return comparison;
}

}  // namespace antegrad::runtime
