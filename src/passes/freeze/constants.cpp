#include "passes/freeze/constants.h"

#include <fmt/format.h>

#include <algorithm>

#include "passes/rewrite/rewrite.h"
#include "passes/simplify/dead_code.h"

namespace antegrad::passes {
namespace {

/// What is kept may take this many times the memory of what it is computed from (a widening cast), and this
/// many bytes more.
constexpr int64_t kGrowth = 2, kSlack = 4096;

bool is_static(const ir::Arg& arg) {
  if (const auto* dim = arg.as<ir::Dim>()) return dim->is_constant();
  if (const auto* list = arg.as<ir::Arg::List>()) return std::ranges::all_of(*list, is_static);
  return arg.as<ir::Real>() == nullptr && arg.as<ir::GraphPtr>() == nullptr;
}

bool is_static(const ir::Type& type) {
  const auto* tensor = type.tensor();
  const auto is_number = [](const ir::Dim& dim) { return dim.is_constant(); };
  return tensor != nullptr && tensor->device.kind == ir::Device::Kind::Cpu && is_number(tensor->offset) &&
         std::ranges::all_of(tensor->sizes, is_number) && std::ranges::all_of(tensor->strides, is_number);
}

/// Whether LibTorch's op gives the same results whenever it gets the same arguments.
bool is_repeatable(const ir::Graph& graph, const ir::Node& node) {
  const bool known = node.op.starts_with("aten.") || node.op == "antegrad.constant" ||
                     node.op == "antegrad.strided" || node.op == "antegrad.restride" ||
                     node.op == "antegrad.pack";
  return known && node.effects.none() && !node.functional && !node.op.starts_with("aten.empty") &&
         !node.op.starts_with("aten.new_empty") &&
         std::ranges::all_of(node.args, [](const ir::Arg& arg) { return is_static(arg); }) &&
         std::ranges::all_of(node.attrs, [](const ir::NamedArg& attr) { return is_static(attr.value); }) &&
         std::ranges::all_of(node.outputs, [&](ir::ValueId v) { return is_static(graph.type_of(v)); });
}

int64_t bytes_of(const ir::TensorType& type) {
  return type.numel().constant() * ir::size_in_bytes(type.dtype);
}

class Taker {
 public:
  explicit Taker(ir::Graph& graph)
      : graph_(graph), constant_(constant_values(graph)), sources_(graph.values.size()) {
    leaves_.assign(graph.values.size(), false);
    for (const auto& output : graph.outputs)
      if (output.value.valid()) leaves_[graph.storage_of(output.value)] = true;
    count_sources();
  }

  std::optional<ir::Graph> run() {
    ir::PerValue<bool> live(graph_.values.size());
    const auto use = [&](ir::ValueId v) {
      if (v.valid()) live[v] = true;
    };
    for (const auto& output : graph_.outputs) use(output.value);
    auto frozen = graph_;
    Rewrite rest(graph_);
    std::vector<ir::ValueId> taken;
    for (size_t i = graph_.nodes.size(); i-- > 0;) {
      const auto& node = graph_.nodes[i];
      std::vector<ir::ValueId> read;
      std::ranges::copy_if(node.outputs, std::back_inserter(read), [&](ir::ValueId v) { return live[v]; });
      const bool stays = !node.effects.none();
      if (!stays && std::ranges::all_of(read, [&](ir::ValueId v) { return is_worth_keeping(v); })) {
        taken.insert(taken.end(), read.begin(), read.end());
        rest.erase_node(i);
        continue;
      }
      ir::for_each_input(node, use);
      for (const auto v : node.effects.writes) use(v);
    }
    if (taken.empty()) return std::nullopt;
    std::ranges::sort(taken, {}, [](ir::ValueId v) { return v.position(); });
    frozen.outputs.clear();
    for (const auto v : taken) {
      frozen.outputs.emplace_back().value = v;
      graph_.inputs.push_back(
          {v, ir::InputRole::Constant, fmt::format("frozen{}", frozen.outputs.size() - 1)});
    }
    std::erase_if(frozen.nodes, [](const ir::Node& node) { return !node.effects.none(); });
    frozen.stage = ir::Stage::Functional;
    dead_code(frozen);
    rest.apply();
    return frozen;
  }

 private:
  /// Adds up, per value, the bytes of the constant inputs that it is computed from.
  void count_sources() {
    const auto is_constant = constant_inputs(graph_);
    for (size_t i = 0; i < graph_.inputs.size(); ++i)
      if (const auto v = graph_.inputs[i].value; is_constant[i] && constant_[v])
        sources_[v] = bytes_of(graph_.tensor_type(v));
    for (const auto& node : graph_.nodes)
      for (const auto v : node.outputs)
        if (v.valid() && constant_[v])
          ir::for_each_input(node, [&](ir::ValueId read) { sources_[v] += sources_[read]; });
  }

  bool is_worth_keeping(ir::ValueId v) const {
    return constant_[v] && sources_[v] > 0 && graph_.storage_of(v) == v && !leaves_[v] &&
           bytes_of(graph_.tensor_type(v)) <= kGrowth * sources_[v] + kSlack;
  }

  ir::Graph& graph_;
  const ir::PerValue<bool> constant_;
  ir::PerValue<bool> leaves_;  ///< the memory of these values leaves the graph, for the caller to write to
  ir::PerValue<int64_t> sources_;
};

}  // namespace

std::vector<bool> constant_inputs(const ir::Graph& graph) {
  std::vector<bool> constant;
  for (const auto& input : graph.inputs)
    constant.push_back((input.role == ir::InputRole::Param || input.role == ir::InputRole::Buffer) &&
                       graph.type_of(input.value).tensor() != nullptr);
  for (const auto& output : graph.outputs)
    if (output.role == ir::OutputRole::MutatedInput && output.target >= 0) constant[output.target] = false;
  return constant;
}

ir::PerValue<bool> constant_values(const ir::Graph& graph) {
  ir::PerValue<bool> constant(graph.values.size());
  const auto inputs = constant_inputs(graph);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i]) constant[graph.inputs[i].value] = is_static(graph.type_of(graph.inputs[i].value));
  for (const auto& node : graph.nodes) {
    bool all = is_repeatable(graph, node);
    ir::for_each_input(node, [&](ir::ValueId v) { all = all && (!v.valid() || constant[v]); });
    for (const auto v : node.outputs)
      if (v.valid()) constant[v] = all;
  }
  return constant;
}

std::optional<ir::Graph> take_out_constants(ir::Graph& graph) {
  if (!is_functional(graph)) return std::nullopt;
  return Taker(graph).run();
}

}  // namespace antegrad::passes
