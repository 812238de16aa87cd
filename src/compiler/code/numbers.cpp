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

#include "aten/op_schema.h"
#include "ir/ops.h"
#include "ir/text.h"

namespace antegrad::compiler {
namespace {

using aten::ArgKind;
using ir::Arg;
using ir::Dim;

constexpr std::string_view kConstant = "antegrad.constant";

/// The value of a literal: an integer, or the bits of a double.
struct Literal {
  int64_t value = 0;
  bool real = false;
  auto operator<=>(const Literal&) const = default;
};

std::optional<Literal> literal_of(const Arg& arg) {
  if (const auto* number = arg.as<double>()) return Literal{std::bit_cast<int64_t>(*number), true};
  if (const auto* dim = arg.as<Dim>(); dim != nullptr && dim->is_constant())
    return Literal{dim->constant(), false};
  return std::nullopt;
}

/// The contents of a constant that was a number of the host.
std::optional<Literal> literal_of(const ir::Graph& graph, const ir::Node& constant) {
  const auto& type = graph.tensor_type(constant.outputs[0]);
  const auto* bytes = constant.attrs.at(0).value.as<ir::Bytes>();
  if (bytes == nullptr || (*bytes)->size() != sizeof(int64_t)) return std::nullopt;
  if (type.dtype != ir::DType::F64 && type.dtype != ir::DType::I64) return std::nullopt;
  Literal literal{0, type.dtype == ir::DType::F64};
  std::memcpy(&literal.value, (*bytes)->data(), sizeof(int64_t));
  return literal;
}

/// Returns the argument there, const where the node is; null when there is none.
template <class Node>
auto* find(Node& node, const NumberPlace& place) {
  const auto args = node.args.size();
  decltype(&node.args[0]) arg = nullptr;
  if (place.arg < args)
    arg = &node.args[place.arg];
  else if (place.arg - args < node.attrs.size())
    arg = &node.attrs[place.arg - args].value;
  if (arg == nullptr || place.element < 0) return arg;
  auto* list = std::get_if<Arg::List>(&arg->v);
  const size_t element = place.element;
  return list != nullptr && element < list->size() ? &(*list)[element] : nullptr;
}

std::optional<Literal> literal_at(const ir::Graph& graph, const NumberPlace& place) {
  if (place.node >= graph.nodes.size()) return std::nullopt;
  const auto& node = graph.nodes[place.node];
  if (node.op == kConstant) return literal_of(graph, node);
  const auto* arg = find(node, place);
  return arg != nullptr ? literal_of(*arg) : std::nullopt;
}

Arg as_symbol(size_t symbol, bool real) {
  const auto dim = Dim::symbol(static_cast<int32_t>(symbol));
  return real ? Arg(ir::Real{ir::Real::Form::Number, 1, dim}) : Arg(dim);
}

/// Whether the op throws for 0 in place of a number, if its result is of this type.
bool divides(const ir::Node& node, ir::DType dtype) {
  return ir::raises(node.op) != ir::Raises::Never && !ir::is_floating(dtype);
}

bool is_usual(const Literal& literal, const ir::Graph& graph, const ir::Node& node) {
  return std::ranges::all_of(node.outputs, [&](ir::ValueId v) {
    const auto* type = graph.type_of(v).tensor();
    if (type == nullptr || node.op == kConstant) return true;
    const NumberUse use{&node.op, 0, literal.real, divides(node, type->dtype), type->dtype};
    return is_usual(use, literal.value);
  });
}

/// Whether an op takes any number there, as opposed to a size, a dim or an index.
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

/// Calls `f` with the place of each literal of the node that is a number.
template <class F>
void each_number(const ir::Graph& graph, uint32_t n, const F& f) {
  const auto& node = graph.nodes[n];
  if (node.op == kConstant) {
    f(NumberPlace{n, 0, -1});
    return;
  }
  for (uint32_t k = 0; k < node.args.size() + node.attrs.size(); ++k) {
    if (!takes_number(node, k)) continue;
    const auto* list = find(node, {n, k, -1})->template as<Arg::List>();
    if (list == nullptr) f(NumberPlace{n, k, -1});
    for (int32_t i = 0; list != nullptr && std::cmp_less(i, list->size()); ++i) f(NumberPlace{n, k, i});
  }
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
    if (now_.inputs != other_.inputs || now_.outputs != other_.outputs ||
        now_.values.size() != other_.values.size() || now_.nodes.size() != other_.nodes.size())
      return Failure{"the function runs other ops"};
    for (const auto v : now_.values.ids())
      if (!(now_.values[v] == other_.values[v])) return Failure{"a number decides the type of a tensor"};
    for (size_t n = 0; n < now_.nodes.size(); ++n)
      if (!compare(static_cast<uint32_t>(n)))
        return Failure{fmt::format("node {} is {}, was {}", n, ir::print(now_, now_.nodes[n]),
                                   ir::print(other_, other_.nodes[n]))};
    return std::move(out_);
  }

 private:
  bool compare(uint32_t n) {
    const auto& a = now_.nodes[n];
    const auto& b = other_.nodes[n];
    if (!same_structure(a, b)) return false;
    if (a.op == kConstant) return compare_constants(n);
    for (uint32_t k = 0; k < a.args.size() + a.attrs.size(); ++k)
      if (!compare({n, k, -1}, takes_number(a, k))) return false;
    return true;
  }

  bool compare(const NumberPlace& place, bool may_differ) {
    const auto& a = *find(now_.nodes[place.node], place);
    const auto& b = *find(other_.nodes[place.node], place);
    const auto* list = a.as<Arg::List>();
    if (list != nullptr && may_differ && place.element < 0) {
      const auto* others = b.as<Arg::List>();
      if (others == nullptr || others->size() != list->size()) return false;
      for (size_t i = 0; i < list->size(); ++i)
        if (!compare({place.node, place.arg, static_cast<int32_t>(i)}, true)) return false;
      return true;
    }
    if (a == b && symbol_before(place) < 0) return true;
    const auto x = literal_of(a), y = literal_of(b);
    if (!may_differ || !x || !y || x->real != y->real) return false;
    if (!is_usual(*x, now_, now_.nodes[place.node]) || !is_usual(*y, other_, other_.nodes[place.node]))
      return false;
    *find(out_.graph.nodes[place.node], place) = symbol_for(place, *x, *y);
    return true;
  }

  bool compare_constants(uint32_t n) {
    const auto& a = now_.nodes[n];
    const auto& b = other_.nodes[n];
    if (a.attrs == b.attrs && symbol_before({n, 0, -1}) < 0) return true;
    const auto x = literal_of(now_, a), y = literal_of(other_, b);
    if (!x || !y || x->real != y->real || a.attrs.size() != b.attrs.size()) return false;
    for (size_t k = 1; k < a.attrs.size(); ++k)
      if (!(a.attrs[k] == b.attrs[k])) return false;
    out_.graph.nodes[n].attrs[0] = {"value", symbol_for({n, 0, -1}, *x, *y)};
    return true;
  }

  int32_t symbol_before(const NumberPlace& place) const {
    return symbol_of(find(other_symbolic_.nodes[place.node], place), first_number_);
  }

  /// Literals that have been equal to each other in both captures, and were one symbol or none before, are
  /// one.
  Arg symbol_for(const NumberPlace& place, const Literal& now, const Literal& other) {
    const auto next = static_cast<int32_t>(out_.graph.symbols.size());
    const auto [found, is_new] = symbols_.try_emplace({symbol_before(place), now, other}, next);
    if (is_new) {
      out_.graph.symbols.push_back({});
      out_.numbers.places.push_back(place);
    }
    return as_symbol(static_cast<size_t>(found->second), now.real);
  }

  const ir::Graph& now_;
  const ir::Graph& other_;
  const ir::Graph& other_symbolic_;
  const int32_t first_number_;
  NumberedGraph out_;
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
  for (uint32_t n = 0; n < over_symbols.nodes.size(); ++n) {
    const auto& node = over_symbols.nodes[n];
    each_number(over_symbols, n, [&](const NumberPlace& place) {
      const auto* arg = find(node, place);
      const auto symbol = symbol_of(arg, first);
      if (symbol < 0) return;
      NumberUse use{&node.op, symbol, arg->as<ir::Real>() != nullptr};
      if (node.op == kConstant) uses.push_back(use);
      for (auto v : node.outputs) {
        const auto* type = over_symbols.type_of(v).tensor();
        if (type == nullptr || node.op == kConstant) continue;
        use.dtype = type->dtype;
        use.divides = divides(node, type->dtype);
        uses.push_back(use);
      }
    });
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
    for (auto& graph : graphs) {
      auto& node = graph.nodes[place.node];
      if (node.op == kConstant)
        node.attrs[0] = {"value", as_symbol(symbol->second, real)};
      else
        *find(node, place) = as_symbol(symbol->second, real);
    }
  };
  for (uint32_t n = 0; n < graphs[0].nodes.size(); ++n) each_number(graphs[0], n, mark);
  for (auto s = samples.first; s < symbols; ++s) {
    const auto differs = [&](const auto& values) { return values[s] != samples.values[0][s]; };
    if (!places[s - samples.first] && std::ranges::any_of(samples.values, differs))
      return Failure{"a number does not occur in the forward pass"};
  }
  return places;
}

std::optional<int64_t> number_at(const ir::Graph& graph, const ir::Graph& over_symbols,
                                 const NumberPlace& place) {
  if (place.node >= graph.nodes.size() || graph.nodes[place.node].op != over_symbols.nodes[place.node].op)
    return std::nullopt;
  const auto literal = literal_at(graph, place);
  const auto* symbol = find(over_symbols.nodes[place.node], place);
  if (!literal || literal->real != (symbol->as<ir::Real>() != nullptr)) return std::nullopt;
  return literal->value;
}

Result<std::vector<int64_t>> NumberSymbols::values_in(const ir::Graph& graph,
                                                      const ir::Graph& over_symbols) const {
  std::vector<int64_t> values;
  for (const auto& place : places) {
    const auto value = number_at(graph, over_symbols, place);
    const bool real = find(over_symbols.nodes[place.node], place)->as<ir::Real>() != nullptr;
    if (!value || !is_usual(Literal{*value, real}, graph, graph.nodes[place.node]))
      return Failure{
          fmt::format("node {} is {}, expected {}", place.node,
                      place.node < graph.nodes.size() ? ir::print(graph, graph.nodes[place.node]) : "missing",
                      ir::print(over_symbols, over_symbols.nodes[place.node]))};
    values.push_back(*value);
  }
  return values;
}

Result<NumberedGraph> generalize_numbers(ir::Graph graph, const ir::Graph& now, const ir::Graph& other,
                                         const ir::Graph& other_symbolic, int32_t first_number) {
  return NumberSearch(std::move(graph), now, other, other_symbolic, first_number).run();
}

}  // namespace antegrad::compiler
