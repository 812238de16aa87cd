#include "compiler/code/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <tuple>

#include "ir/ops.h"
#include "ir/text.h"

namespace antegrad::compiler {
namespace {

using ir::Arg;
using ir::Dim;

/// Whether the op throws for 0 in place of a number, if its result is of this type.
bool divides(const ir::Node& node, ir::DType dtype) {
  return ir::raises(node.op) != ir::Raises::Never && !ir::is_floating(dtype);
}

/// `graph`: the one that has the node.
bool is_usual(const Literal& literal, const ir::Graph& graph, const ir::Node& node) {
  return std::ranges::all_of(node.outputs, [&](ir::ValueId v) {
    const auto* type = graph.type_of(v).tensor();
    if (type == nullptr || node.op == kConstant) return true;
    const NumberUse use{&node.op, 0, literal.real, divides(node, type->dtype), type->dtype};
    return is_usual(use, literal.value);
  });
}

bool is_usual(const Literal& literal, const ir::Graph& graph, const NumberPlace& place) {
  return is_usual(literal, *graph_at(graph, place), *node_at(graph, place));
}

/// Whether a symbol stands for a real number there.
bool is_real(const ir::Graph& over_symbols, const NumberPlace& place) {
  return arg_at(over_symbols, place)->as<ir::Real>() != nullptr;
}

/// Returns the symbol that an argument is, if it is one from number `first` on; -1 otherwise.
int32_t symbol_of(const Arg* arg, int32_t first) {
  const auto* real = arg != nullptr ? arg->as<ir::Real>() : nullptr;
  const auto* dim = real != nullptr ? &real->dim : arg != nullptr ? arg->as<Dim>() : nullptr;
  const auto symbol = dim != nullptr ? dim->as_symbol() : std::nullopt;
  return symbol && *symbol >= first ? *symbol : -1;
}

bool same_structure(const ir::Node& a, const ir::Node& b) {
  return a.op == b.op && a.args.size() == b.args.size() && a.outputs == b.outputs && a.returns == b.returns &&
         a.effects == b.effects && a.functional == b.functional && a.provenance == b.provenance &&
         std::equal(a.attrs.begin(), a.attrs.end(), b.attrs.begin(), b.attrs.end(),
                    [](const auto& x, const auto& y) { return x.name == y.name; });
}

class NumberSearch {
 public:
  NumberSearch(ir::Graph graph, const ir::Graph& now, const ir::Graph& other, const ir::Graph& other_symbolic,
               int32_t first_number)
      : now_(now), other_(other), other_symbolic_(other_symbolic), first_number_(first_number) {
    out_.graph = std::move(graph);
  }

  Result<NumberedGraph> run() {
    if (!compare_bodies(now_, other_, {})) return Failure{why_};
    return std::move(out_);
  }

 private:
  using Inside = std::vector<NumberPlace::Body>;

  /// Compares two graphs, or bodies that are in the same place.
  bool compare_bodies(const ir::Graph& a, const ir::Graph& b, const Inside& inside) {
    if (a.inputs != b.inputs || a.outputs != b.outputs || a.values.size() != b.values.size() ||
        a.nodes.size() != b.nodes.size())
      return fails("the function runs other ops");
    for (const auto v : a.values.ids())
      if (!(a.values[v] == b.values[v])) return fails("a number decides the type of a tensor");
    for (size_t n = 0; n < a.nodes.size(); ++n)
      if (!compare(a.nodes[n], b.nodes[n], {inside, static_cast<uint32_t>(n), 0, -1}))
        return fails(
            fmt::format("node {} is {}, was {}", n, ir::print(a, a.nodes[n]), ir::print(b, b.nodes[n])));
    return true;
  }

  bool compare(const ir::Node& a, const ir::Node& b, NumberPlace place) {
    if (!same_structure(a, b)) return false;
    if (a.op == kConstant) return compare_constants(a, b, place);
    for (uint32_t k = 0; k < a.args.size() + a.attrs.size(); ++k) {
      place.arg = k;
      if (!compare(place, takes_number(a, k))) return false;
    }
    return true;
  }

  bool compare(const NumberPlace& place, bool may_differ) {
    const auto& a = *arg_at(now_, place);
    const auto& b = *arg_at(other_, place);
    if (const auto* body = a.as<ir::GraphPtr>()) {
      auto inside = place.inside;
      inside.push_back({place.node, place.arg});
      const auto* other = b.as<ir::GraphPtr>();
      return other != nullptr && compare_bodies(**body, **other, inside);
    }
    const auto* list = a.as<Arg::List>();
    if (list != nullptr && may_differ && place.element < 0) {
      const auto* others = b.as<Arg::List>();
      if (others == nullptr || others->size() != list->size()) return false;
      for (size_t i = 0; i < list->size(); ++i)
        if (!compare({place.inside, place.node, place.arg, static_cast<int32_t>(i)}, true)) return false;
      return true;
    }
    if (a == b && symbol_before(place) < 0) return true;
    const auto x = literal_of(a), y = literal_of(b);
    if (!may_differ || !x || !y || x->real != y->real) return false;
    if (!is_usual(*x, now_, place) || !is_usual(*y, other_, place)) return false;
    put_symbol(place, *x, *y);
    return true;
  }

  bool compare_constants(const ir::Node& a, const ir::Node& b, const NumberPlace& place) {
    if (a.attrs == b.attrs && symbol_before(place) < 0) return true;
    const auto x = literal_at(now_, place), y = literal_at(other_, place);
    if (!x || !y || x->real != y->real || a.attrs.size() != b.attrs.size()) return false;
    for (size_t k = 1; k < a.attrs.size(); ++k)
      if (!(a.attrs[k] == b.attrs[k])) return false;
    put_symbol(place, *x, *y);
    return true;
  }

  bool fails(std::string why) {
    if (why_.empty()) why_ = std::move(why);
    return false;
  }

  int32_t symbol_before(const NumberPlace& place) const {
    return symbol_of(arg_at(other_symbolic_, place), first_number_);
  }

  /// Literals that have been equal to each other in both captures, and were one symbol or none before, are
  /// one.
  void put_symbol(const NumberPlace& place, const Literal& now, const Literal& other) {
    const auto next = static_cast<int32_t>(out_.graph.symbols.size());
    const auto [found, is_new] = symbols_.try_emplace({symbol_before(place), now, other}, next);
    if (is_new) {
      out_.graph.symbols.push_back({});
      out_.numbers.places.push_back(place);
    }
    compiler::put_symbol(out_.graph, place, found->second, now.real);
  }

  const ir::Graph& now_;
  const ir::Graph& other_;
  const ir::Graph& other_symbolic_;
  const int32_t first_number_;
  NumberedGraph out_;
  std::string why_;
  std::map<std::tuple<int32_t, Literal, Literal>, int32_t> symbols_;
};

}  // namespace

/// Eager throws for numbers that the type cannot hold, and for integer division by 0.
bool is_usual(const NumberUse& use, int64_t value) {
  const auto number = use.real ? std::bit_cast<double>(value) : static_cast<double>(value);
  if (use.divides && value == 0) return false;
  switch (use.dtype) {
    case ir::DType::F32:
    case ir::DType::BF16:
      return !std::isfinite(number) || std::abs(number) <= std::numeric_limits<float>::max();
    case ir::DType::F16:
      return !std::isfinite(number) || std::abs(number) <= 65504;
    case ir::DType::U8:
      return number >= 0 && number <= 255;
    case ir::DType::I8:
      return std::abs(number) <= 127;
    case ir::DType::I16:
      return std::abs(number) <= 32767;
    case ir::DType::I32:
      return std::abs(number) <= 2147483647;
    case ir::DType::I64:
      return std::abs(number) < 9e18;
    default:
      return true;
  }
}

std::vector<NumberUse> uses_of_numbers(const ir::Graph& over_symbols, int32_t first) {
  std::vector<NumberUse> uses;
  for (const auto& place : number_places(over_symbols)) {
    const auto& graph = *graph_at(over_symbols, place);
    const auto& node = graph.nodes[place.node];
    const auto* arg = arg_at(over_symbols, place);
    const auto symbol = symbol_of(arg, first);
    if (symbol < 0) continue;
    NumberUse use{&node.op, symbol, arg->as<ir::Real>() != nullptr};
    if (node.op == kConstant) uses.push_back(use);
    for (auto v : node.outputs) {
      const auto* type = graph.type_of(v).tensor();
      if (type == nullptr || node.op == kConstant) continue;
      use.dtype = type->dtype;
      use.divides = divides(node, type->dtype);
      uses.push_back(use);
    }
  }
  return uses;
}

Result<std::vector<std::optional<NumberPlace>>> mark_numbers(const NumberSamples& samples) {
  auto& graphs = samples.graphs;
  const auto symbols = samples.values[0].size();
  std::map<std::vector<int64_t>, size_t> by_values;  // those of each symbol that differs
  for (auto s = samples.first; s < symbols; ++s) {
    std::vector<int64_t> values;
    for (const auto& one : samples.values) values.push_back(one[s]);
    if (std::ranges::adjacent_find(values, std::not_equal_to()) != values.end())
      by_values.try_emplace(std::move(values), s);
  }
  std::vector<std::optional<NumberPlace>> places(symbols - samples.first);
  const auto mark = [&](const NumberPlace& place) {
    std::vector<int64_t> values;
    bool real = false;
    for (const auto& graph : graphs) {
      const auto literal = literal_at(graph, place);
      if (!literal) return;
      values.push_back(literal->value);
      real = literal->real;
    }
    const auto symbol = by_values.find(values);
    if (symbol == by_values.end()) return;
    places[symbol->second - samples.first] = place;
    for (auto& graph : graphs) put_symbol(graph, place, static_cast<int32_t>(symbol->second), real);
  };
  for (const auto& place : number_places(graphs[0])) mark(place);
  for (auto s = samples.first; s < symbols; ++s) {
    const auto differs = [&](const auto& values) { return values[s] != samples.values[0][s]; };
    if (!places[s - samples.first] && std::ranges::any_of(samples.values, differs))
      return Failure{"a number does not occur in the forward pass"};
  }
  return places;
}

std::optional<int64_t> number_at(const ir::Graph& graph, const ir::Graph& over_symbols,
                                 const NumberPlace& place) {
  const auto* node = node_at(graph, place);
  if (node == nullptr || node->op != node_at(over_symbols, place)->op) return std::nullopt;
  const auto literal = literal_at(graph, place);
  if (!literal || literal->real != is_real(over_symbols, place)) return std::nullopt;
  return literal->value;
}

Result<std::vector<int64_t>> NumberSymbols::values_in(const ir::Graph& graph,
                                                      const ir::Graph& over_symbols) const {
  std::vector<int64_t> values;
  for (const auto& place : places) {
    const auto value = number_at(graph, over_symbols, place);
    if (!value || !is_usual({*value, is_real(over_symbols, place)}, graph, place)) {
      const auto n = place.inside.empty() ? place.node : place.inside[0].node;
      return Failure{fmt::format("node {} is {}, expected {}", n,
                                 n < graph.nodes.size() ? ir::print(graph, graph.nodes[n]) : "missing",
                                 ir::print(over_symbols, over_symbols.nodes[n]))};
    }
    values.push_back(*value);
  }
  return values;
}

Result<NumberedGraph> generalize_numbers(ir::Graph graph, const ir::Graph& now, const ir::Graph& other,
                                         const ir::Graph& other_symbolic, int32_t first_number) {
  return NumberSearch(std::move(graph), now, other, other_symbolic, first_number).run();
}

}  // namespace antegrad::compiler
