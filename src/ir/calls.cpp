#include "ir/calls.h"

#include <algorithm>
#include <utility>

#include "antegrad/error.h"

namespace antegrad::ir {

Node call_node(GraphPtr graph, const std::vector<ValueId>& arguments) {
  Node node;
  node.op = std::string(kCall);
  node.args = {std::move(graph), Arg(Arg::List(arguments.begin(), arguments.end()))};
  return node;
}

const Graph* called(const Node& node) {
  if (node.op != kCall || node.args.size() != 2) return nullptr;
  const auto* graph = node.args[0].as<GraphPtr>();
  return graph != nullptr ? graph->get() : nullptr;
}

std::vector<ValueId> arguments_of(const Node& call) {
  std::vector<ValueId> arguments;
  for_each_value(call.args[1], [&](ValueId v) { arguments.push_back(v); });
  return arguments;
}

void for_each_eager_read(const Node& node, const std::function<void(ValueId)>& use) {
  const auto extra = std::ranges::find(node.attrs, kExtra, &NamedArg::name);
  if (called(node) == nullptr || extra == node.attrs.end()) {
    for_each_input(node, use);
    std::ranges::for_each(node.effects.writes, use);
    return;
  }
  const auto arguments = arguments_of(node);
  const auto& positions = *extra->value.as<Arg::List>();
  for (size_t i = 0; i < arguments.size(); ++i)
    if (std::ranges::find(positions, Arg(static_cast<int64_t>(i))) == positions.end()) use(arguments[i]);
}

bool has_calls(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) { return called(node) != nullptr; });
}

Inliner::Inliner(Graph& graph) : graph_(graph), moved_to_(graph.values.size()) {}

NodeId Inliner::add(Node node) {
  nodes_.push_back(std::move(node));
  return NodeId::at(nodes_.size() - 1);
}

Inliner::Called Inliner::call(const Node& call, const Graph& graph) {
  const auto arguments = arguments_of(call);
  if (arguments.size() != graph.inputs.size() || call.outputs.size() != graph.outputs.size())
    throw Error(ErrorCode::InvalidArgument, "call:" + graph.name,
                "it has another number of inputs or outputs than its call", "Check the graph text");
  Called out{PerValue<ValueId>(graph.values.size()), PerNode<NodeId>(graph.nodes.size())};
  PerValue<Dim> shift(graph.values.size());  // of what is on the memory of an argument
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto input = graph.inputs[i].value;
    out.values[input] = arguments[i];
    shift[input] = graph_.tensor_type(arguments[i]).offset - graph.tensor_type(input).offset;
  }
  for (size_t k = 0; k < call.outputs.size(); ++k) out.values[graph.outputs[k].value] = call.outputs[k];
  const auto place = [&](ValueId v) {
    auto& here = out.values[v];
    if (!here.valid()) {
      here = graph_.add_value(graph.type_of(v));
      moved_to_.push_back({});
    }
    const auto storage = graph.storage_of(v);
    auto& value = graph_.values[here];
    value.base = storage == v ? ValueId() : graph_.storage_of(out.values[storage]);
    moved_to_[here] = value.base;
    if (auto* type = value.type.tensor(); type != nullptr && storage != v)
      type->offset = type->offset + shift[storage];
  };
  for (const auto id : graph.node_ids()) {
    auto node = graph.node(id);
    const auto map = [&](ValueId& v) { v = out.values[v]; };
    for_each_input(node, map);
    std::ranges::for_each(node.effects.writes, map);
    for (auto& output : node.outputs) {
      place(output);
      map(output);
    }
    node.provenance = call.provenance;
    out.nodes[id] = add(std::move(node));
  }
  for (const auto v : graph.values.ids())  // memory that only kernels use
    if (!out.values[v].valid()) place(v);
  return out;
}

void Inliner::finish() {
  for (auto& value : graph_.values)
    if (value.base.valid() && moved_to_[value.base].valid()) value.base = moved_to_[value.base];
  graph_.nodes = std::move(nodes_);
}

Graph inline_calls(const Graph& graph, const std::function<bool(const Node& call)>& which) {
  auto out = graph;
  out.nodes.clear();
  Inliner inliner(out);
  for (const auto& node : graph.nodes) {
    const auto* callee = called(node);
    if (callee != nullptr && (!which || which(node)))
      inliner.call(node, has_calls(*callee) ? inline_calls(*callee) : *callee);
    else
      inliner.add(node);
  }
  inliner.finish();
  return out;
}

}  // namespace antegrad::ir
