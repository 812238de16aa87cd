#include "codegen/cpu/c_text.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "antegrad/error.h"
#include "ir/dim_expr.h"
#include "schedule/kernel.h"

namespace antegrad::codegen::cpu {

using ir::DType;

std::string_view memory_type(DType dtype) {
  switch (dtype) {
    case DType::U8:
    case DType::Bool:
      return "uint8_t";
    case DType::I8:
      return "int8_t";
    case DType::I16:
      return "int16_t";
    case DType::I32:
      return "int32_t";
    case DType::I64:
      return "int64_t";
    case DType::U16:
    case DType::F16:
    case DType::BF16:
      return "uint16_t";
    case DType::U32:
      return "uint32_t";
    case DType::U64:
      return "uint64_t";
    case DType::F32:
      return "float";
    case DType::F64:
      return "double";
    default:
      throw Error(ErrorCode::Internal, "codegen", fmt::format("C has no type for {}", ir::name(dtype)));
  }
}

std::string_view scalar_type(DType dtype) {
  return dtype == DType::Bool ? "_Bool" : memory_type(schedule::compute_type(dtype));
}

namespace {

std::string floating_literal(DType dtype, double number) {
  const bool is_float = dtype == DType::F32;
  if (std::isnan(number)) return is_float ? "__builtin_nanf(\"\")" : "__builtin_nan(\"\")";
  if (std::isinf(number))
    return std::string(number < 0 ? "-" : "") + (is_float ? "__builtin_inff()" : "__builtin_inf()");
  auto text = is_float ? fmt::format("{}", static_cast<float>(number)) : fmt::format("{}", number);
  if (text == "inf" || text == "-inf") return floating_literal(dtype, static_cast<float>(number));
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return is_float ? text + "f" : text;
}

std::string integer_literal(DType dtype, int64_t number) {
  if (dtype == DType::U64) return fmt::format("{}ull", static_cast<uint64_t>(number));
  if (dtype == DType::U32) return fmt::format("{}u", static_cast<uint32_t>(number));
  if (number == std::numeric_limits<int64_t>::min()) return "(-9223372036854775807ll - 1)";
  const bool is_int = number >= -0x7fffffffLL && number <= 0x7fffffffLL;
  return fmt::format("{}{}", number, is_int ? "" : "ll");
}

}  // namespace

std::string literal(DType dtype, const std::variant<int64_t, double>& number) {
  return std::visit(
      [&](auto value) -> std::string {
        const auto type = schedule::compute_type(dtype);
        if (type == DType::F32 || type == DType::F64)
          return floating_literal(type, static_cast<double>(value));
        if (type == DType::Bool) return value != 0 ? "1" : "0";
        return integer_literal(type, static_cast<int64_t>(value));
      },
      number);
}

namespace {

std::string atom_text(const ir::detail::Atom& atom) {
  using ir::detail::AtomKind;
  static constexpr std::string_view kMacros[] = {"", "AG_FLOOR_DIV", "AG_MOD", "AG_MIN", "AG_MAX"};
  if (atom.kind == AtomKind::Symbol) return fmt::format("s{}", atom.index);
  auto text = dim_text(atom.operands.front());
  for (size_t i = 1; i < atom.operands.size(); ++i)
    text =
        fmt::format("{}({}, {})", kMacros[static_cast<size_t>(atom.kind)], text, dim_text(atom.operands[i]));
  return text;
}

std::string product_text(const ir::detail::Term& term, int64_t coefficient) {
  std::string out;
  for (const auto& factor : term.factors)
    for (int32_t i = 0; i < factor.power; ++i) out += (out.empty() ? "" : " * ") + atom_text(*factor.atom);
  if (coefficient != 1) out += (out.empty() ? "" : " * ") + integer_literal(DType::I64, coefficient);
  return out.empty() ? "1" : out;
}

}  // namespace

std::string dim_text(const ir::Dim& dim) {
  if (dim.is_constant()) return integer_literal(DType::I64, dim.constant());
  std::string out;
  for (const auto& term : ir::detail::DimExpr::of(dim)->terms) {
    const bool subtracted = !out.empty() && term.coefficient < 0 && term.coefficient != INT64_MIN;
    if (!out.empty()) out += subtracted ? " - " : " + ";
    out += product_text(term, subtracted ? -term.coefficient : term.coefficient);
  }
  return out;
}

std::string dim_factor(const ir::Dim& dim) {
  auto text = dim_text(dim);
  return dim.is_constant() || dim.as_symbol() ? text : "(" + text + ")";
}

}  // namespace antegrad::codegen::cpu
