// Arithmetic on sizes, with Python's meaning of // and %.
#include <fmt/format.h>

#include <cmath>

#include "antegrad/error.h"
#include "program/expression.h"
#include "program/interpreter.h"
#include "program/resolve.h"

namespace antegrad::program {
namespace {

[[noreturn]] void refuse_number(const Node& node, const std::string& fact) {
  throw Error(ErrorCode::InvalidArgument, "program:" + node.target, fact + where_in_python(node),
              "Pass inputs of sizes that the program was exported for");
}

bool is_whole(const c10::IValue& value) { return value.isInt() || value.isBool(); }

std::optional<Expression::Op> op_of(const std::string& function) {
  static const auto& ops = *new std::map<std::string, Expression::Op>{
      {"add", Expression::Op::Add},      {"sub", Expression::Op::Subtract},
      {"mul", Expression::Op::Multiply}, {"floordiv", Expression::Op::FloorDivide},
      {"mod", Expression::Op::Modulo},   {"pow", Expression::Op::Power},
      {"sym_max", Expression::Op::Max},  {"sym_min", Expression::Op::Min},
      {"eq", Expression::Op::Equal},     {"ne", Expression::Op::NotEqual},
      {"lt", Expression::Op::Less},      {"le", Expression::Op::LessEqual},
      {"gt", Expression::Op::Greater},   {"ge", Expression::Op::GreaterEqual}};
  const auto found = ops.find(function);
  return found == ops.end() ? std::nullopt : std::optional(found->second);
}

bool is_comparison(Expression::Op op) {
  return op >= Expression::Op::Equal && op <= Expression::Op::GreaterEqual;
}

c10::IValue on_whole_numbers(const Node& node, Expression::Op op, int64_t a, int64_t b) {
  Expression call, left, right;
  left.number = a;
  right.number = b;
  call.op = op;
  call.operands = {left, right};
  const auto result = evaluate(call, [](const std::string&) { return std::optional<int64_t>(); });
  if (!result) refuse_number(node, fmt::format("{}({}, {}) is no number of 64 bits", node.function, a, b));
  if (is_comparison(op)) return *result != 0;
  return *result;
}

c10::IValue on_real_numbers(Expression::Op op, double a, double b) {
  switch (op) {
    case Expression::Op::Add:
      return a + b;
    case Expression::Op::Subtract:
      return a - b;
    case Expression::Op::Multiply:
      return a * b;
    case Expression::Op::FloorDivide:
      return std::floor(a / b);
    case Expression::Op::Modulo: {
      const auto rest = std::fmod(a, b);
      return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    }
    case Expression::Op::Power:
      return std::pow(a, b);
    case Expression::Op::Max:
      return std::max(a, b);
    case Expression::Op::Min:
      return std::min(a, b);
    case Expression::Op::Equal:
      return a == b;
    case Expression::Op::NotEqual:
      return a != b;
    case Expression::Op::Less:
      return a < b;
    case Expression::Op::LessEqual:
      return a <= b;
    case Expression::Op::Greater:
      return a > b;
    default:
      return a >= b;
  }
}

int64_t truncated(const Node& node, const c10::IValue& value) {
  if (is_whole(value)) return value.toScalar().toLong();
  const auto real = value.toScalar().toDouble();
  if (!(std::abs(real) < 9.2e18)) refuse_number(node, fmt::format("{} is no whole number of 64 bits", real));
  return static_cast<int64_t>(real);
}

c10::IValue of_two_bits(const Node& node, int64_t a, int64_t b) {
  if (node.function == "and_") return a & b;
  if (node.function == "or_") return a | b;
  if (b < 0 || b > 62) refuse_number(node, fmt::format("a shift by {}", b));
  return node.function == "rshift" ? a >> b : static_cast<int64_t>(static_cast<uint64_t>(a) << b);
}

}  // namespace

c10::IValue run_number_function(const Node& node, const std::vector<c10::IValue>& arguments) {
  const auto& f = node.function;
  const size_t count = f == "sym_ite" ? 3
                       : f == "neg" || f == "pos" || f == "trunc" ||
                               (f.rfind("sym_", 0) == 0 && f != "sym_max" && f != "sym_min")
                           ? 1
                           : 2;
  if (arguments.size() != count) refuse_number(node, fmt::format("{} takes {} numbers", f, count));
  for (const auto& argument : arguments)
    if (!argument.isScalar() || argument.isComplexDouble()) refuse_number(node, "an argument is no number");
  const auto& a = arguments[0];
  const auto real = [&](size_t i) { return arguments[i].toScalar().toDouble(); };
  if (f == "pos") return a;
  if (f == "neg")
    return is_whole(a) ? on_whole_numbers(node, Expression::Op::Subtract, 0, a.toScalar().toLong())
                       : c10::IValue(-real(0));
  if (f == "trunc" || f == "sym_int") return truncated(node, a);
  if (f == "sym_float") return real(0);
  if (f == "sym_sqrt") return std::sqrt(real(0));
  if (f == "sym_not") return real(0) == 0;
  if (f == "sym_ite") return arguments[real(0) != 0 ? 1 : 2];
  if (f == "truediv") {
    if (real(1) == 0) refuse_number(node, "a division by zero");
    return real(0) / real(1);
  }
  const auto& b = arguments[1];
  if (a.isBool() && b.isBool() && (f == "and_" || f == "or_"))
    return f == "and_" ? a.toBool() && b.toBool() : a.toBool() || b.toBool();
  if (f == "and_" || f == "or_" || f == "lshift" || f == "rshift")
    return of_two_bits(node, truncated(node, a), truncated(node, b));
  const auto op = op_of(f);
  if (!op) refuse_number(node, fmt::format("{} is unknown", f));
  const bool whole = is_whole(a) && is_whole(b);
  if (whole && !(f == "pow" && b.toScalar().toLong() < 0))
    return on_whole_numbers(node, *op, a.toScalar().toLong(), b.toScalar().toLong());
  return on_real_numbers(*op, real(0), real(1));
}

}  // namespace antegrad::program
