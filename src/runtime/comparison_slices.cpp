#include "runtime/comparison_slices.h"

#include "runtime/placement.h"

namespace antegrad::runtime {
namespace {

using schedule::Buffer;

/// The values that a kernel takes for buffers of a kind.
std::vector<ir::ValueId> buffers_of(const schedule::Program& program, const schedule::RunKernel& call,
                                    Buffer::Kind kind) {
  const auto& kernel = program.kernels[static_cast<size_t>(call.kernel)];
  const auto passed = passed_buffers(kernel);
  std::vector<ir::ValueId> values;
  for (size_t b = 0; b < passed.size(); ++b)
    if (kernel.buffers[static_cast<size_t>(passed[b])].kind == kind) values.push_back(call.buffers[b]);
  return values;
}

}  // namespace

ComparisonSlices::ComparisonSlices(const schedule::Program& program) : program_(program) {
  producer_.assign(program.graph.values.size(), -1);
  known_.resize(program.graph.values.size());
  for (size_t n = 0; n < program.graph.nodes.size(); ++n)
    for (auto v : program.graph.nodes[n].outputs)
      producer_[static_cast<size_t>(v.index)] = static_cast<int32_t>(n);
  for (const auto& input : program.graph.inputs) known_[static_cast<size_t>(input.value.index)] = true;
  last_.resize(program.graph.values.size());
  for (size_t s = 0; s < program.steps.size(); ++s)
    if (const auto* call = std::get_if<schedule::RunKernel>(&program.steps[s]))
      for (auto v : buffers_of(program, *call, Buffer::Kind::Output)) last_[static_cast<size_t>(v.index)] = s;
}

std::vector<ir::ValueId> ComparisonSlices::reads(size_t step) const {
  std::vector<ir::ValueId> values;
  if (const auto* call = std::get_if<schedule::RunKernel>(&program_.steps[step])) {
    values = buffers_of(program_, *call, Buffer::Kind::Input);
  } else {
    const auto node = std::get<schedule::RunNode>(program_.steps[step]).node;
    ir::for_each_input(program_.graph.nodes[static_cast<size_t>(node)],
                       [&](ir::ValueId v) { values.push_back(v); });
  }
  return values;
}

std::vector<ir::ValueId> ComparisonSlices::finished(size_t step) const {
  if (const auto* run = std::get_if<schedule::RunNode>(&program_.steps[step]))
    return program_.graph.nodes[static_cast<size_t>(run->node)].outputs;
  auto values =
      buffers_of(program_, std::get<schedule::RunKernel>(program_.steps[step]), Buffer::Kind::Output);
  std::erase_if(values, [&](ir::ValueId v) {
    const auto index = static_cast<size_t>(v.index);
    return producer_[index] < 0 || last_[index] != step;
  });
  return values;
}

void ComparisonSlices::finish(const std::vector<ir::ValueId>& values) {
  for (auto v : values) known_[static_cast<size_t>(v.index)] = true;
}

ir::Graph ComparisonSlices::slice(const std::vector<ir::ValueId>& outputs) const {
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

}  // namespace antegrad::runtime
