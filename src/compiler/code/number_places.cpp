#include "compiler/code/number_places.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

#include "aten/op_schema.h"

namespace antegrad::compiler {
namespace {

using aten::ArgKind;
using ir::Arg;
using ir::Dim;

/// Returns the argument there, const where the node is; null when there is none.
template <class Node>
auto* find(Node& node, uint32_t index, int32_t element) {
  const auto args = node.args.size();
  decltype(&node.args[0]) arg = nullptr;
  if (index < args)
    arg = &node.args[index];
  else if (index - args < node.attrs.size())
    arg = &node.attrs[index - args].value;
  if (arg == nullptr || element < 0) return arg;
  auto* list = std::get_if<Arg::List>(&arg->v);
  return list != nullptr && std::cmp_less(element, list->size()) ? &(*list)[element] : nullptr;
}

class PlaceSearch {
 public:
  std::vector<NumberPlace> run(const ir::Graph& graph) {
    visit(graph);
    return std::move(out_);
  }

 private:
  void visit(const ir::Graph& graph) {
    for (uint32_t n = 0; n < graph.nodes.size(); ++n) visit(graph.nodes[n], n);
  }

  void visit(const ir::Node& node, uint32_t n) {
    if (node.op == kConstant) return add(n, 0, -1);
    for (uint32_t k = 0; k < node.args.size() + node.attrs.size(); ++k) {
      const auto& arg = *find(node, k, -1);
      if (const auto* body = arg.as<ir::GraphPtr>()) {
        inside_.push_back({n, k});
        visit(**body);
        inside_.pop_back();
      } else if (takes_number(node, k)) {
        const auto* list = arg.as<Arg::List>();
        if (list == nullptr) add(n, k, -1);
        for (int32_t i = 0; list != nullptr && std::cmp_less(i, list->size()); ++i) add(n, k, i);
      }
    }
  }

  void add(uint32_t node, uint32_t arg, int32_t element) { out_.push_back({inside_, node, arg, element}); }

  std::vector<NumberPlace::Body> inside_;
  std::vector<NumberPlace> out_;
};

/// Calls `change` with the node there, and with the graphs around it before, except the outermost.
template <class ChangeBody, class Change>
void edit(ir::Graph& graph, const NumberPlace& place, size_t depth, const ChangeBody& change_body,
          const Change& change) {
  if (depth == place.inside.size()) return change(graph.nodes[place.node]);
  const auto& [node, arg] = place.inside[depth];
  auto& body = std::get<ir::GraphPtr>(find(graph.nodes[node], arg, -1)->v);
  auto copy = *body;
  change_body(copy);
  edit(copy, place, depth + 1, change_body, change);
  body = std::make_shared<const ir::Graph>(std::move(copy));
}

ir::Bytes bytes_of(int64_t value) {
  std::vector<uint8_t> bytes(sizeof(value));
  std::memcpy(bytes.data(), &value, sizeof(value));
  return std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
}

}  // namespace

bool takes_number(const ir::Node& node, uint32_t arg) {
  const auto* schema = aten::find_schema(node.op);
  if (schema == nullptr) return false;
  const auto accepts = [](const aten::ArgSchema& one) {
    return one.kind == ArgKind::Number || one.kind == ArgKind::Float || one.kind == ArgKind::NumberList ||
           one.kind == ArgKind::FloatList;
  };
  if (arg < node.args.size()) return arg < schema->args.size() && accepts(schema->args[arg]);
  for (const auto& one : schema->args)
    if (one.name == node.attrs[arg - node.args.size()].name) return accepts(one);
  return false;
}

std::vector<NumberPlace> number_places(const ir::Graph& graph) { return PlaceSearch().run(graph); }

const ir::Graph* graph_at(const ir::Graph& graph, const NumberPlace& place) {
  const auto* at = &graph;
  for (const auto& [node, index] : place.inside) {
    const auto* arg = node < at->nodes.size() ? find(at->nodes[node], index, -1) : nullptr;
    const auto* body = arg != nullptr ? arg->template as<ir::GraphPtr>() : nullptr;
    if (body == nullptr || !*body) return nullptr;
    at = body->get();
  }
  return at;
}

const ir::Node* node_at(const ir::Graph& graph, const NumberPlace& place) {
  const auto* at = graph_at(graph, place);
  return at != nullptr && place.node < at->nodes.size() ? &at->nodes[place.node] : nullptr;
}

const Arg* arg_at(const ir::Graph& graph, const NumberPlace& place) {
  const auto* node = node_at(graph, place);
  return node != nullptr ? find(*node, place.arg, place.element) : nullptr;
}

std::optional<Literal> literal_of(const Arg& arg) {
  if (const auto* number = arg.as<double>()) return Literal{std::bit_cast<int64_t>(*number), true};
  if (const auto* dim = arg.as<Dim>(); dim != nullptr && dim->is_constant())
    return Literal{dim->constant(), false};
  return std::nullopt;
}

std::optional<Literal> literal_at(const ir::Graph& graph, const NumberPlace& place) {
  const auto* arg = arg_at(graph, place);
  if (arg == nullptr) return std::nullopt;
  const auto& node = *node_at(graph, place);
  if (node.op != kConstant) return literal_of(*arg);
  const auto& type = graph_at(graph, place)->tensor_type(node.outputs[0]);
  const auto* bytes = arg->as<ir::Bytes>();
  if (bytes == nullptr || (*bytes)->size() != sizeof(int64_t)) return std::nullopt;
  if (type.dtype != ir::DType::F64 && type.dtype != ir::DType::I64) return std::nullopt;
  Literal literal{0, type.dtype == ir::DType::F64};
  std::memcpy(&literal.value, (*bytes)->data(), sizeof(int64_t));
  return literal;
}

void put_symbol(ir::Graph& graph, const NumberPlace& place, int32_t symbol, bool real) {
  const auto dim = Dim::symbol(symbol);
  const auto arg = real ? Arg(ir::Real{ir::Real::Form::Number, 1, dim}) : Arg(dim);
  const auto knows = [&](ir::Graph& body) {
    body.symbols.resize(std::max(body.symbols.size(), static_cast<size_t>(symbol) + 1));
  };
  edit(graph, place, 0, knows, [&](ir::Node& node) {
    if (node.op == kConstant)
      node.attrs[0] = {"value", arg};
    else
      *find(node, place.arg, place.element) = arg;
  });
}

void put_literal(ir::Graph& graph, const NumberPlace& place, const Literal& literal) {
  edit(
      graph, place, 0, [](ir::Graph&) {},
      [&](ir::Node& node) {
        if (node.op == kConstant)
          node.attrs[0] = {"data", bytes_of(literal.value)};
        else
          *find(node, place.arg, place.element) =
              literal.real ? Arg(std::bit_cast<double>(literal.value)) : Arg(literal.value);
      });
}

}  // namespace antegrad::compiler
