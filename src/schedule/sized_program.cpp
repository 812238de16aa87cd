#include "schedule/sized_program.h"

#include <algorithm>

#include "ir/substitute.h"
#include "schedule/cost.h"

namespace antegrad::schedule {
namespace {

bool has_symbols(const std::vector<ir::Dim>& dims) {
  return std::ranges::any_of(dims, [](const ir::Dim& dim) { return !dim.is_constant(); });
}

bool has_symbols(const ir::Arg& arg) {
  if (const auto* dim = arg.as<ir::Dim>()) return !dim->is_constant();
  if (const auto* list = arg.as<ir::Arg::List>())
    return std::ranges::any_of(*list, [](const ir::Arg& one) { return has_symbols(one); });
  if (const auto* body = arg.as<ir::GraphPtr>()) return !(*body)->symbols.empty();
  return arg.as<ir::Real>() != nullptr;
}

bool has_symbols(const ir::Node& node) {
  return std::ranges::any_of(node.args, [](const ir::Arg& arg) { return has_symbols(arg); }) ||
         std::ranges::any_of(node.attrs, [](const ir::NamedArg& attr) { return has_symbols(attr.value); });
}

}  // namespace

SizedProgram::SizedProgram(const Program& program, bool all_nodes)
    : over_symbols_{program.graph, {}, program.steps, {}}, program_(program) {
  program_.graph.symbols.clear();
  auto& graph = program_.graph;
  std::vector<bool> runs(graph.nodes.size(), all_nodes);
  for (size_t s = 0; s < program.steps.size(); ++s) {
    if (const auto* run = std::get_if<RunNode>(&program.steps[s]))
      runs[run->node.position()] = true;
    else
      steps_.push_back(s);
  }
  for (const auto node : graph.node_ids()) {
    if (!runs[node.position()])
      graph.node(node) = over_symbols_.graph.node(node) = {};
    else if (has_symbols(graph.node(node)))
      nodes_.push_back(node);
  }
  for (const auto v : graph.values.ids())
    if (const auto* type = graph.type_of(v).tensor();
        type != nullptr &&
        (has_symbols(type->sizes) || has_symbols(type->strides) || !type->offset.is_constant()))
      values_.push_back(v);
}

const Program& SizedProgram::at(const std::vector<int64_t>& values) {
  const ir::Dim::Assignment value_of = [&values](int32_t symbol) { return values[symbol]; };
  const auto number = [&](const ir::Dim& dim) { return dim.evaluate(value_of); };
  for (const auto v : values_) {
    const auto& from = *over_symbols_.graph.type_of(v).tensor();
    auto& to = *program_.graph.values[v].type.tensor();
    std::ranges::transform(from.sizes, to.sizes.begin(), number);
    std::ranges::transform(from.strides, to.strides.begin(), number);
    to.offset = number(from.offset);
  }
  for (const auto node : nodes_)
    program_.graph.node(node) = ir::substitute(over_symbols_.graph.node(node), values);
  for (const auto s : steps_) {
    const auto& from = std::get<RunKernel>(over_symbols_.steps[s]);
    auto& to = std::get<RunKernel>(program_.steps[s]);
    to.units = number(from.units);
    to.grain = grain_of(program_.kernels[to.kernel], number);
  }
  return program_;
}

}  // namespace antegrad::schedule
