#include "ir/substitute.h"

#include <algorithm>
#include <cstring>

#include "antegrad/error.h"

namespace antegrad::ir {
namespace {

/// Returns the object representation of a number.
Bytes contents(const Arg& number) {
  std::vector<uint8_t> bytes(sizeof(int64_t));
  if (const auto* real = number.as<double>()) {
    std::memcpy(bytes.data(), real, sizeof(double));
  } else {
    const auto integer = std::get<Dim>(number.v).constant();
    std::memcpy(bytes.data(), &integer, sizeof(int64_t));
  }
  return std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
}

class Substitution {
 public:
  explicit Substitution(const std::vector<int64_t>& values)
      : value_of_([&values](int32_t s) { return values[s]; }) {}

  void apply(Dim& dim) const {
    if (!dim.is_constant()) dim = dim.evaluate(value_of_);
  }
  void apply(TensorType& type) const {
    for (auto& size : type.sizes) apply(size);
    for (auto& stride : type.strides) apply(stride);
    apply(type.offset);
  }
  void apply(Arg& arg) const {
    if (auto* dim = std::get_if<Dim>(&arg.v)) {
      apply(*dim);
    } else if (const auto* real = std::get_if<Real>(&arg.v)) {
      arg = real->evaluate(value_of_);
    } else if (auto* list = std::get_if<Arg::List>(&arg.v)) {
      for (auto& element : *list) apply(element);
    } else if (auto* graph = std::get_if<GraphPtr>(&arg.v); graph != nullptr && !(*graph)->symbols.empty()) {
      auto copy = **graph;
      apply(copy);
      *graph = std::make_shared<const Graph>(std::move(copy));
    }
  }
  void apply(Graph& graph) const {
    for (auto& value : graph.values)
      if (auto* tensor = value.type.tensor()) apply(*tensor);
    for (auto& node : graph.nodes) apply(node);
    graph.symbols.clear();
  }
  void apply(Node& node) const {
    for (auto& arg : node.args) apply(arg);
    for (auto& attr : node.attrs) apply(attr.value);
    if (node.op != "antegrad.constant") return;
    for (auto& attr : node.attrs)
      if (attr.name == "value") attr = {"data", contents(attr.value)};
  }

 private:
  Dim::Assignment value_of_;
};

/// Compares parts of a graph over symbols with those of another one.
class Comparison {
 public:
  explicit Comparison(const std::vector<int64_t>& values)
      : values_(values), value_of_([&values](int32_t s) { return values[s]; }) {}

  bool equal(const Dim& a, const Dim& b) const {
    return a.is_constant() ? a == b : b.is(a.evaluate(value_of_));
  }
  bool equal(const std::vector<Dim>& a, const std::vector<Dim>& b) const {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [&](const Dim& x, const Dim& y) { return equal(x, y); });
  }
  bool equal(const Value& a, const Value& b) const {
    if (a.base != b.base) return false;
    const auto* x = a.type.tensor();
    const auto* y = b.type.tensor();
    if (x == nullptr || y == nullptr) return a.type == b.type;
    return x->dtype == y->dtype && x->device == y->device && equal(x->sizes, y->sizes) &&
           equal(x->strides, y->strides) && equal(x->offset, y->offset);
  }
  bool equal(const Arg& a, const Arg& b) const {
    if (const auto* real = a.as<Real>()) return Arg(real->evaluate(value_of_)) == b;
    const auto* graph = a.as<GraphPtr>();
    if (graph != nullptr && !(*graph)->symbols.empty() && b.as<GraphPtr>() != nullptr)
      return substitute(a, values_) == b;
    const auto* dim = a.as<Dim>();
    const auto* list = a.as<Arg::List>();
    if (dim == nullptr && list == nullptr) return a == b;
    const auto* other_dim = b.as<Dim>();
    if (dim != nullptr) return other_dim != nullptr && equal(*dim, *other_dim);
    const auto* others = b.as<Arg::List>();
    return others != nullptr && std::equal(list->begin(), list->end(), others->begin(), others->end(),
                                           [&](const Arg& x, const Arg& y) { return equal(x, y); });
  }
  bool equal(const Node& a, const Node& b) const {
    if (a.op != b.op || a.outputs != b.outputs || a.returns != b.returns || !(a.effects == b.effects) ||
        a.functional != b.functional || !(a.provenance == b.provenance))
      return false;
    if (a.op == "antegrad.constant") return substitute(a, values_).attrs == b.attrs;
    return std::equal(a.args.begin(), a.args.end(), b.args.begin(), b.args.end(),
                      [&](const Arg& x, const Arg& y) { return equal(x, y); }) &&
           std::equal(a.attrs.begin(), a.attrs.end(), b.attrs.begin(), b.attrs.end(),
                      [&](const NamedArg& x, const NamedArg& y) {
                        return x.name == y.name && equal(x.value, y.value);
                      });
  }

 private:
  const std::vector<int64_t>& values_;
  Dim::Assignment value_of_;
};

}  // namespace

bool equal_at(const Graph& over_symbols, const std::vector<int64_t>& values, const Graph& graph) {
  if (over_symbols.inputs != graph.inputs || over_symbols.outputs != graph.outputs ||
      over_symbols.nodes.size() != graph.nodes.size())
    return false;
  const Comparison comparison(values);
  const auto same = [&](ValueId v) {
    return graph.values.contains(v) && comparison.equal(over_symbols.values[v], graph.values[v]);
  };
  try {
    for (const auto& input : graph.inputs)
      if (!same(input.value)) return false;
    for (size_t n = 0; n < graph.nodes.size(); ++n)
      if (!comparison.equal(over_symbols.nodes[n], graph.nodes[n]) ||
          !std::ranges::all_of(graph.nodes[n].outputs, same))
        return false;
  } catch (const Error&) {  // e.g. division by a size that is 0 here
    return false;
  }
  return true;
}

Node substitute(const Node& node, const std::vector<int64_t>& values) {
  auto out = node;
  Substitution(values).apply(out);
  return out;
}

Arg substitute(const Arg& arg, const std::vector<int64_t>& values) {
  auto out = arg;
  Substitution(values).apply(out);
  return out;
}

TensorType substitute(const TensorType& type, const std::vector<int64_t>& values) {
  auto out = type;
  Substitution(values).apply(out);
  return out;
}

Graph substitute(const Graph& graph, const std::vector<int64_t>& values) {
  auto out = graph;
  Substitution(values).apply(out);
  return out;
}

}  // namespace antegrad::ir
