#include "codegen/text/op_text.h"

#include <fmt/format.h>

#include <limits>

#include "antegrad/error.h"
#include "codegen/text/c_text.h"
#include "codegen/text/expression.h"

namespace antegrad::codegen {

using ir::DType;
using schedule::Combine;
using schedule::Op;
using schedule::OpCode;

std::string from_memory(Names& names, DType memory, const std::string& element) {
  if (memory == DType::BF16) return fmt::format("{}({})", names.function("ag_bf16_to_f32"), element);
  if (memory == DType::F16) return fmt::format("{}({})", names.function("ag_f16_to_f32"), element);
  if (memory == DType::Bool) return element + " != 0";
  return element;
}

std::string to_memory(Names& names, DType memory, const std::string& value, DType type) {
  if (memory == DType::BF16) return fmt::format("{}({})", names.function("ag_f32_to_bf16"), value);
  if (memory == DType::F16) return fmt::format("{}({})", names.function("ag_f32_to_f16"), value);
  if (memory == DType::Bool && type != DType::Bool) return value + " != 0";
  return value;
}

namespace {

std::string cast_text(Names& names, const Op& op) {
  const auto value = names.scalar(op.args[0]);
  const auto from = names.type(op.args[0]);
  const auto to = schedule::compute_type(op.dtype);
  if (op.dtype == DType::F16 || op.dtype == DType::BF16)
    return from_memory(names, op.dtype, to_memory(names, op.dtype, value, from));
  if (from == to) return value;
  if (to == DType::Bool) return value + " != 0";
  // Out-of-range values convert as in LibTorch: u8 takes the low byte of a 64-bit integer, narrower types the
  // low bits of a 32-bit integer.
  if (ir::is_floating(from) && to == DType::U8)
    return fmt::format("{}({})", names.function(fmt::format("ag_low_byte_{}", ir::name(from))), value);
  if (ir::is_floating(from) && !ir::is_floating(to) && ir::size_in_bytes(to) < 4)
    return fmt::format("({})(int32_t){}", scalar_type(to), value);
  return fmt::format("({}){}", scalar_type(to), value);
}

std::string compute_text(Names& names, const Op& op) {
  std::vector<std::string> arguments;
  for (const auto arg : op.args) arguments.push_back(names.scalar(arg));
  return expression_text(op.text, op.operand, arguments, names.functions());
}

}  // namespace

std::string value_text(Names& names, const Op& op) {
  switch (op.code) {
    case OpCode::Constant:
      return names.number(op.dtype, op.number);
    case OpCode::Index:
      return names.affine(op.address);
    case OpCode::Compute:
      return compute_text(names, op);
    case OpCode::Cast:
      return cast_text(names, op);
    default:
      throw Error(ErrorCode::Internal, "codegen", "an op defines no scalar from others");
  }
}

namespace {

std::string integer_limit(DType type, bool largest) {
  static constexpr auto kMin = std::numeric_limits<int64_t>::min();
  const bool is_signed = type == DType::I8 || type == DType::I16 || type == DType::I32 || type == DType::I64;
  const auto bits = 8 * ir::size_in_bytes(type);
  if (!is_signed) return largest ? fmt::format("({})-1", scalar_type(type)) : "0";
  return literal(type, largest ? ~(kMin >> (64 - bits)) : kMin >> (64 - bits));
}

}  // namespace

std::string neutral_text(DType type, Combine combine) {
  constexpr auto kInfinity = std::numeric_limits<double>::infinity();
  const bool extremum = combine == Combine::Max || combine == Combine::Min;
  if (type == DType::Bool || combine == Combine::Any || combine == Combine::All)
    return combine == Combine::All || combine == Combine::Min || combine == Combine::Product ? "1" : "0";
  if (!extremum) return literal(type, combine == Combine::Product ? int64_t{1} : int64_t{0});
  if (ir::is_floating(type)) return literal(type, combine == Combine::Max ? -kInfinity : kInfinity);
  return integer_limit(type, combine == Combine::Min);
}

std::string_view clause(Combine combine, DType type) {
  const bool truth = type == DType::Bool;
  switch (combine) {
    case Combine::Sum:
      return truth ? "|" : "+";
    case Combine::Product:
      return truth ? "&" : "*";
    case Combine::Max:
      return truth ? "|" : "max";
    case Combine::Min:
      return truth ? "&" : "min";
    case Combine::Any:
      return "|";
    case Combine::All:
      return "&";
    case Combine::Set:
      break;
  }
  throw Error(ErrorCode::Internal, "codegen", "only scatter can set");
}

std::string combine_text(const std::string& into, const std::string& value, DType type, Combine combine) {
  const bool extremum = combine == Combine::Max || combine == Combine::Min;
  if (combine == Combine::Set) return fmt::format("{} = {};", into, value);
  if (!extremum || type == DType::Bool) return fmt::format("{} {}= {};", into, clause(combine, type), value);
  return fmt::format("{} = {}{}({}, {});", into, ir::is_floating(type) ? "AG_NAN_" : "AG_",
                     combine == Combine::Max ? "MAX" : "MIN", into, value);
}

}  // namespace antegrad::codegen
