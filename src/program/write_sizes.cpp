#include "program/write_sizes.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "antegrad/error.h"
#include "ir/dim_expr.h"
#include "symbolic/shapes.h"

namespace antegrad::program {
namespace {

using ir::Dim;
using ir::detail::Atom;
using ir::detail::AtomKind;
using ir::detail::DimExpr;

/// The parts of an expression: joins them by `f(text, text)`.
std::string nested(const char* function, const std::vector<std::string>& parts) {
  if (parts.size() == 1) return parts[0];
  std::string out = std::string(function) + "(";
  for (size_t i = 0; i < parts.size(); ++i) out += (i > 0 ? ", " : "") + parts[i];
  return out + ")";
}

std::string atom_text(const Atom& atom) {
  if (atom.kind == AtomKind::Symbol)
    return fmt::format("Symbol('{}', positive=True, integer=True)", symbol_name(atom.index));
  std::vector<std::string> operands;
  for (const auto& operand : atom.operands) operands.push_back(sympy_text(operand));
  switch (atom.kind) {
    case AtomKind::FloorDiv:
      return nested("FloorDiv", operands);
    case AtomKind::Mod:
      return nested("PythonMod", operands);
    case AtomKind::Min:
      return nested("Min", operands);
    default:
      return nested("Max", operands);
  }
}

Json input(const char* name, const Json& argument) {
  return {{"name", name}, {"arg", argument}, {"kind", 1}};
}

Json named_int(const std::string& name) { return {{"as_sym_int", {{"as_name", name}}}}; }
Json named_real(const std::string& name) { return {{"as_sym_float", {{"as_name", name}}}}; }

}  // namespace

std::string symbol_name(int32_t symbol) { return fmt::format("s{}", symbol); }

std::string sympy_text(const Dim& dim) {
  if (dim.is_constant()) return fmt::format("Integer({})", dim.constant());
  std::vector<std::string> sum;
  for (const auto& term : DimExpr::terms_of(dim)) {
    std::vector<std::string> product;
    if (term.coefficient != 1 || term.factors.empty())
      product.push_back(fmt::format("Integer({})", term.coefficient));
    for (const auto& factor : term.factors)
      product.push_back(factor.power == 1
                            ? atom_text(*factor.atom)
                            : fmt::format("Pow({}, Integer({}))", atom_text(*factor.atom), factor.power));
    sum.push_back(nested("Mul", product));
  }
  return nested("Add", sum);
}

Json size_json(const Dim& dim, const std::vector<ir::Symbol>& symbols) {
  if (dim.is_constant()) return {{"as_int", dim.constant()}};
  const auto hint = dim.evaluate([&](int32_t s) { return symbols[s].hint; });
  return {{"as_expr", {{"expr_str", sympy_text(dim)}, {"hint", {{"as_int", hint}}}}}};
}

SizeWriter::SizeWriter(const ir::Graph& graph, std::function<std::string(ir::ValueId)> name_of, Add add)
    : graph_(graph), name_of_input_(std::move(name_of)), add_(std::move(add)) {}

Json SizeWriter::number(const Dim& dim) {
  if (dim.is_constant()) return {{"as_int", dim.constant()}};
  return named_int(name_of(dim));
}

Json SizeWriter::element(const Dim& dim) {
  if (dim.is_constant()) return {{"as_int", dim.constant()}};
  return {{"as_name", name_of(dim)}};
}

std::string SizeWriter::binary(const char* target, const Json& a, const Json& b, const Dim& result) {
  return add_(
      {target, Json::array({input("a", a), input("b", b)}), false, size_json(result, graph_.symbols)});
}

/// A symbol is computed from the size of an argument that is factor * symbol + offset.
std::string SizeWriter::symbol(int32_t symbol) {
  for (const auto& argument : graph_.inputs) {
    const auto* type = graph_.type_of(argument.value).tensor();
    if (type == nullptr || argument.role != ir::InputRole::UserInput) continue;
    for (size_t d = 0; d < type->sizes.size(); ++d) {
      const auto affine = symbolic::as_affine(type->sizes[d]);
      if (!affine || affine->symbol != symbol || affine->factor < 1) continue;
      auto value = type->sizes[d];
      auto name =
          add_({"torch.ops.aten.sym_size.int",
                Json::array({input("self", {{"as_tensor", {{"name", name_of_input_(argument.value)}}}}),
                             input("dim", {{"as_int", d}})}),
                false, size_json(value, graph_.symbols)});
      if (affine->offset != 0) {
        value = value - Dim(affine->offset);
        name = binary("_operator.sub", named_int(name), {{"as_int", affine->offset}}, value);
      }
      if (affine->factor != 1)
        name =
            binary("_operator.floordiv", named_int(name), {{"as_int", affine->factor}}, Dim::symbol(symbol));
      return name;
    }
  }
  throw Error(ErrorCode::Internal, "program:save",
              fmt::format("no argument has the size {}", symbol_name(symbol)));
}

std::string SizeWriter::name_of(const Dim& dim) {
  if (const auto found = known_.find(dim); found != known_.end()) return found->second;
  const auto remember = [&](const Dim& value, std::string name) {
    return known_.emplace(value, std::move(name)).first->second;
  };
  if (const auto plain = dim.as_symbol()) return remember(dim, symbol(*plain));
  const auto terms = DimExpr::terms_of(dim);
  if (terms.size() > 1) {
    auto sum = DimExpr::from_terms({terms[0]});
    for (size_t i = 1; i < terms.size(); ++i) {
      const auto next = DimExpr::from_terms({terms[i]});
      const auto a = number(sum), b = number(next);
      sum = sum + next;
      if (known_.count(sum) == 0) remember(sum, binary("_operator.add", a, b, sum));
    }
    return known_.at(dim);
  }
  const auto& term = terms[0];
  if (term.coefficient != 1 || term.factors.size() > 1 || term.factors[0].power > 1) {
    Dim product(term.coefficient);
    for (const auto& factor : term.factors)
      for (int32_t k = 0; k < factor.power; ++k) {
        const auto next = DimExpr::from_atom(*factor.atom);
        const auto a = number(product), b = number(next);
        product = product * next;
        if (product == next) continue;
        if (known_.count(product) == 0) remember(product, binary("_operator.mul", a, b, product));
      }
    return known_.at(dim);
  }
  const auto& atom = *term.factors[0].atom;
  const char* target = atom.kind == AtomKind::FloorDiv ? "_operator.floordiv"
                       : atom.kind == AtomKind::Mod    ? "_operator.mod"
                       : atom.kind == AtomKind::Min    ? "torch.sym_min"
                                                       : "torch.sym_max";
  auto result = atom.operands[0];
  for (size_t i = 1; i < atom.operands.size(); ++i) {
    const auto a = number(result), b = number(atom.operands[i]);
    const auto& next = atom.operands[i];
    result = atom.kind == AtomKind::FloorDiv ? floor_div(result, next)
             : atom.kind == AtomKind::Mod    ? mod(result, next)
             : atom.kind == AtomKind::Min    ? min(result, next)
                                             : max(result, next);
    if (!result.is_constant() && known_.count(result) == 0) remember(result, binary(target, a, b, result));
  }
  return known_.at(dim);
}

std::string SizeWriter::real_node(const char* target, Json inputs, const std::string& text, double hint) {
  return add_(
      {target, std::move(inputs), true, {{"as_expr", {{"expr_str", text}, {"hint", {{"as_float", hint}}}}}}});
}

Json SizeWriter::number(const ir::Real& real) {
  const auto value_of = [&](int32_t s) { return graph_.symbols[s].hint; };
  const double size = static_cast<double>(hint(real.dim));
  auto text = fmt::format("ToFloat({})", sympy_text(real.dim));
  auto name = real_node("torch.sym_float", Json::array({input("a", number(real.dim))}), text, size);
  if (real.form == ir::Real::Form::TimesSqrt || real.form == ir::Real::Form::OverSqrt) {
    text = fmt::format("OpaqueUnaryFn_sqrt({})", text);
    name = real_node("torch.sym_sqrt", Json::array({input("a", named_real(name))}), text, std::sqrt(size));
  }
  const bool over = real.form == ir::Real::Form::Over || real.form == ir::Real::Form::OverSqrt;
  if (real.form == ir::Real::Form::Number)
    throw Error(ErrorCode::Internal, "program:save", "an exported graph has a number that is a symbol");
  const Json scale = {{"as_float", real.scale}};
  const auto scale_text = fmt::format("Float('{:.17g}', precision=53)", real.scale);
  return named_real(
      over ? real_node("_operator.truediv", Json::array({input("a", scale), input("b", named_real(name))}),
                       fmt::format("FloatTrueDiv({}, {})", scale_text, text), real.evaluate(value_of))
           : real_node("_operator.mul", Json::array({input("a", scale), input("b", named_real(name))}),
                       fmt::format("Mul({}, {})", scale_text, text), real.evaluate(value_of)));
}

}  // namespace antegrad::program
