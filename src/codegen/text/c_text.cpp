#include "codegen/text/c_text.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "antegrad/error.h"
#include "ir/dim_expr.h"
#include "schedule/kernel.h"
#include "util/ids.h"

namespace antegrad::codegen {

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

std::string literal(DType dtype, const schedule::Literal& number) {
  const auto type = schedule::compute_type(dtype);
  const auto print = [&](auto value) -> std::string {
    if (type == DType::F32) return floating_literal(type, static_cast<float>(value));  // a single rounding
    if (type == DType::F64) return floating_literal(type, static_cast<double>(value));
    if (type == DType::Bool) return value != 0 ? "1" : "0";
    return integer_literal(type, static_cast<int64_t>(value));
  };
  const auto* integer = std::get_if<int64_t>(&number);
  return integer != nullptr ? print(*integer) : print(std::get<double>(number));
}

std::string literal(DType dtype, const std::string& number, bool is_double) {
  const auto type = schedule::compute_type(dtype);
  if (type == DType::Bool) return number + " != 0";
  if (type == (is_double ? DType::F64 : DType::I64)) return number;
  if (type == DType::F32 && !is_double) return "(float)(double)" + number;
  return fmt::format("({}){}", scalar_type(type), number);
}

namespace {

/// Prints sizes and records the prelude functions that they call.
class DimPrinter {
 public:
  explicit DimPrinter(std::set<std::string>& functions) : functions_(functions) {}

  std::string sum(const ir::Dim& dim) {
    if (dim.is_constant()) return integer_literal(DType::I64, dim.constant());
    std::string out;
    for (const auto& term : ir::detail::DimExpr::of(dim)->terms) {
      const bool subtracted = !out.empty() && term.coefficient < 0 && term.coefficient != INT64_MIN;
      if (!out.empty()) out += subtracted ? " - " : " + ";
      out += product(term, subtracted ? -term.coefficient : term.coefficient);
    }
    return out;
  }

 private:
  std::string product(const ir::detail::Term& term, int64_t coefficient) {
    std::string out;
    for (const auto& factor : term.factors)
      for (int32_t i = 0; i < factor.power; ++i) out += (out.empty() ? "" : " * ") + part(*factor.atom);
    if (coefficient != 1) out += (out.empty() ? "" : " * ") + integer_literal(DType::I64, coefficient);
    return out.empty() ? "1" : out;
  }

  std::string part(const ir::detail::Atom& atom) {
    static constexpr std::string_view kFunctions[] = {"", "ag_floor_div_i64", "ag_remainder_i64",
                                                      "ag_nan_min_i64", "ag_nan_max_i64"};
    if (atom.kind == ir::detail::AtomKind::Symbol) return fmt::format("s{}", atom.index);
    const std::string function(kFunctions[ordinal(atom.kind)]);
    functions_.insert(function);
    auto text = sum(atom.operands.front());
    for (size_t i = 1; i < atom.operands.size(); ++i)
      text = fmt::format("{}({}, {})", function, text, sum(atom.operands[i]));
    return text;
  }

  std::set<std::string>& functions_;
};

}  // namespace

std::string dim_text(const ir::Dim& dim, std::set<std::string>& functions) {
  return DimPrinter(functions).sum(dim);
}

}  // namespace antegrad::codegen
