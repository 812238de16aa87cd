#include "runtime/plan/comparison_slices.h"

#include "runtime/plan/placement.h"

namespace antegrad::runtime {
namespace {

using schedule::Buffer;

/// Returns the values that a kernel takes for buffers of a kind.
std::vector<ir::ValueId> buffers_of(const schedule::Program& program, const schedule::RunKernel& call,
                                    Buffer::Kind kind) {
  const auto& kernel = program.kernel_of(call);
  const auto passed = passed_buffers(kernel);
  std::vector<ir::ValueId> values;
  for (size_t b = 0; b < passed.size(); ++b)
    if (kernel.buffers[passed[b]].kind == kind) values.push_back(call.buffers[b]);
  return values;
}

}  // namespace

ComparisonSlices::ComparisonSlices(const schedule::Program& program) : program_(program) {
  producer_.resize(program.graph.values.size());
  known_.resize(program.graph.values.size());
  for (const auto n : program.graph.node_ids())
    for (auto v : program.graph.node(n).outputs) producer_[v] = n;
  for (const auto& input : program.graph.inputs) known_[input.value] = true;
  last_.resize(program.graph.values.size());
  for (size_t s = 0; s < program.steps.size(); ++s)
    if (const auto* call = std::get_if<schedule::RunKernel>(&program.steps[s]))
      for (auto v : buffers_of(program, *call, Buffer::Kind::Output)) last_[v] = s;
}

std::vector<ir::ValueId> ComparisonSlices::reads(size_t step) const {
  std::vector<ir::ValueId> values;
  if (const auto* call = std::get_if<schedule::RunKernel>(&program_.steps[step])) {
    values = buffers_of(program_, *call, Buffer::Kind::Input);
  } else {
    ir::for_each_input(program_.node_of(std::get<schedule::RunNode>(program_.steps[step])),
                       [&](ir::ValueId v) { values.push_back(v); });
  }
  return values;
}

std::vector<ir::ValueId> ComparisonSlices::finished(size_t step) const {
  if (const auto* run = std::get_if<schedule::RunNode>(&program_.steps[step]))
    return program_.node_of(*run).outputs;
  auto values =
      buffers_of(program_, std::get<schedule::RunKernel>(program_.steps[step]), Buffer::Kind::Output);
  std::erase_if(values, [&](ir::ValueId v) { return !producer_[v].valid() || last_[v] != step; });
  return values;
}

void ComparisonSlices::finish(const std::vector<ir::ValueId>& values) {
  for (auto v : values) known_[v] = true;
}

ir::Graph ComparisonSlices::slice(const std::vector<ir::ValueId>& outputs) const {
  const auto& graph = program_.graph;
  ir::PerNode<bool> node_needed(graph.nodes.size());
  ir::PerValue<bool> input_needed(graph.values.size());
  auto need = [&](auto&& self, ir::ValueId v) -> void {
    if (known_[v]) {
      input_needed[v] = true;
      return;
    }
    const auto n = producer_[v];
    if (node_needed[n]) return;
    node_needed[n] = true;
    ir::for_each_input(graph.node(n), [&](ir::ValueId read) { self(self, read); });
  };
  for (auto v : outputs) need(need, v);
  ir::Graph part;
  part.name = graph.name;
  part.stage = ir::Stage::Functional;
  part.symbols = graph.symbols;
  part.values = graph.values;
  for (const auto v : input_needed.ids())
    if (input_needed[v]) part.inputs.push_back({v, ir::InputRole::UserInput, {}});
  for (const auto n : graph.node_ids())
    if (node_needed[n]) part.nodes.push_back(graph.node(n));
  for (auto v : outputs) part.outputs.push_back({v, ir::OutputRole::UserOutput, {}, -1});
  return part;
}

}  // namespace antegrad::runtime
