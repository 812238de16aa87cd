#include "ir/graph.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "antegrad/error.h"
#include "ir/numbering.h"
#include "ir/storages.h"

namespace antegrad::ir {
namespace {

bool same_bits(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

struct SameAs {
  const Arg& other;

  template <class T>
  bool operator()(const T& value) const {
    return value == *other.as<T>();
  }
  bool operator()(double value) const { return same_bits(value, *other.as<double>()); }
  bool operator()(const Real& value) const {
    const auto& rhs = *other.as<Real>();
    return value.form == rhs.form && same_bits(value.scale, rhs.scale) && value.dim == rhs.dim;
  }
  bool operator()(const std::complex<double>& value) const {
    const auto& rhs = *other.as<std::complex<double>>();
    return same_bits(value.real(), rhs.real()) && same_bits(value.imag(), rhs.imag());
  }
  bool operator()(const Bytes& value) const {
    const auto& rhs = *other.as<Bytes>();
    return value == rhs || (value && rhs && *value == *rhs);
  }
  bool operator()(const GraphPtr& value) const {
    const auto& rhs = *other.as<GraphPtr>();
    return value == rhs || (value && rhs && *value == *rhs);
  }
};

template <class G, class Fn>
void for_each_read(G& graph, Fn&& fn) {
  for (auto& node : graph.nodes) {
    for_each_input(node, fn);
    for (auto& id : node.effects.writes) fn(id);
  }
  for (auto& output : graph.outputs) fn(output.value);
}

/// Removes `returns` if it only says "one return per output".
void normalize_returns(Node& node) {
  const size_t own =
      node.outputs.size() - (node.functional ? std::min(node.effects.writes.size(), node.outputs.size()) : 0);
  if (node.returns.size() != own) return;
  for (const int32_t count : node.returns)
    if (count != -1) return;
  node.returns.clear();
}

bool equal_compacted(const Graph& a, const Graph& b) {
  return a.name == b.name && a.stage == b.stage && a.symbols == b.symbols && a.values == b.values &&
         a.inputs == b.inputs && a.nodes == b.nodes && a.outputs == b.outputs;
}

}  // namespace

std::string_view name(InputRole role) {
  static constexpr std::string_view kNames[] = {"param", "buffer",    "user", "constant", "tangent",
                                                "saved", "saved_dim", "rng",  "token"};
  return kNames[ordinal(role)];
}

std::string_view name(OutputRole role) {
  static constexpr std::string_view kNames[] = {"user",  "mutated",   "base", "grad",
                                                "saved", "saved_dim", "token"};
  return kNames[ordinal(role)];
}

std::string_view name(Stage stage) {
  static constexpr std::string_view kNames[] = {"traced",  "functional", "joint",
                                                "forward", "backward",   "lowered"};
  return kNames[ordinal(stage)];
}

bool Arg::operator==(const Arg& other) const {
  return v.index() == other.v.index() && std::visit(SameAs{other}, v);
}

std::string_view acts_on(const Effects& effects) {
  if (effects.random || !effects.writes.empty()) return {};
  return effects.resource;
}

ValueId Graph::add_value(Type type, ValueId base) { return values.push_back({std::move(type), base}); }

ValueId Graph::add_input(Type type, InputRole role, std::string input_name) {
  const ValueId id = add_value(std::move(type));
  inputs.push_back({id, role, std::move(input_name)});
  return id;
}

Node& Graph::add_node(Node node) {
  nodes.push_back(std::move(node));
  return nodes.back();
}

const TensorType& Graph::tensor_type(ValueId id) const {
  if (!values.contains(id) || !type_of(id).tensor())
    throw Error(ErrorCode::Internal, "graph", "value %" + std::to_string(id.index) + " is no tensor");
  return *type_of(id).tensor();
}

ValueId Graph::storage_of(ValueId id) const {
  const ValueId base = values[id].base;
  return base.valid() ? base : id;
}

int64_t Graph::hint_of(const Dim& dim) const {
  constexpr int64_t kUnknown = 64;
  return dim.evaluate([&](int32_t s) {
    const auto& symbol = symbols[s];
    return symbol.hint != 0 ? symbol.hint : std::clamp(kUnknown, symbol.range.lower, symbol.range.upper);
  });
}

Numbering number_values(const Graph& graph) {
  Numbering out;
  const auto count = graph.values.size();
  out.number.resize(count);
  out.base.resize(count);
  const auto take = [&](ValueId id) {
    if (graph.values.contains(id) && !out.number[id].valid()) out.number[id] = out.defined.push_back(id);
  };
  for (const auto& input : graph.inputs) take(input.value);
  for (const auto& node : graph.nodes)
    for (const auto id : node.outputs) take(id);
  for_each_read(graph, take);

  PerValue<ValueId> heir(count);  // for a base that is gone: the first remaining value on its storage
  for (const ValueId id : out.defined) {
    const ValueId base = graph.values[id].base;
    if (!graph.values.contains(base)) continue;
    auto& next = heir[base];
    if (out.number[base].valid()) {
      out.base[id] = base;
    } else if (next.valid()) {
      out.base[id] = next;
    } else {
      next = id;
    }
  }
  return out;
}

void Graph::compact() {
  const Numbering numbering = number_values(*this);
  const auto renumber = [&](ValueId& id) { id = numbering.number_of(id); };
  PerValue<Value> kept;
  kept.reserve(numbering.defined.size());
  for (const ValueId id : numbering.defined)
    kept.push_back({std::move(values[id].type), numbering.number_of(numbering.base[id])});
  values = std::move(kept);
  for (auto& input : inputs) renumber(input.value);
  for (auto& node : nodes) {
    for (auto& id : node.outputs) renumber(id);
    normalize_returns(node);
  }
  for_each_read(*this, renumber);
}

bool operator==(const Graph& a, const Graph& b) {
  if (&a == &b) return true;
  if (a.nodes.size() != b.nodes.size() || a.inputs.size() != b.inputs.size()) return false;
  Graph left = a, right = b;
  left.compact();
  right.compact();
  return equal_compacted(left, right);
}

void replace_uses(Graph& graph, const PerValue<ValueId>& map) {
  const Storages before(graph);
  for (const auto& node : graph.nodes) before.follow(graph, node, map);
  for_each_read(graph, [&](ValueId& id) {
    if (map.contains(id) && map[id].valid()) id = map[id];
  });
}

}  // namespace antegrad::ir
