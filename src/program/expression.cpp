#include "program/expression.h"

namespace antegrad::program {
namespace {

using Op = Expression::Op;
using Number = std::optional<int64_t>;

Number floor_divide(int64_t a, int64_t b) {
  if (b == 0 || (b == -1 && a == INT64_MIN)) return {};
  return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}

Number power(int64_t base, int64_t exponent) {
  if (exponent < 0) return {};
  int64_t result = 1;
  // A base of more than one bit overflows within 63 steps; others need no more than two.
  if (base >= -1 && base <= 1) exponent = exponent > 2 ? 2 + exponent % 2 : exponent;
  for (; exponent > 0; --exponent)
    if (__builtin_mul_overflow(result, base, &result)) return {};
  return result;
}

Number binary(Op op, int64_t a, int64_t b) {
  int64_t out = 0;
  switch (op) {
    case Op::Add:
      return __builtin_add_overflow(a, b, &out) ? Number() : out;
    case Op::Subtract:
      return __builtin_sub_overflow(a, b, &out) ? Number() : out;
    case Op::Multiply:
      return __builtin_mul_overflow(a, b, &out) ? Number() : out;
    case Op::FloorDivide:
      return floor_divide(a, b);
    case Op::Modulo: {
      const auto quotient = floor_divide(a, b);
      return quotient ? Number(a - *quotient * b) : Number();
    }
    case Op::Power:
      return power(a, b);
    case Op::Max:
      return std::max(a, b);
    case Op::Min:
      return std::min(a, b);
    case Op::Equal:
      return a == b;
    case Op::NotEqual:
      return a != b;
    case Op::Less:
      return a < b;
    case Op::LessEqual:
      return a <= b;
    case Op::Greater:
      return a > b;
    case Op::GreaterEqual:
      return a >= b;
    case Op::And:
      return a != 0 && b != 0;
    case Op::Or:
      return a != 0 || b != 0;
    default:
      return {};
  }
}

}  // namespace

Number evaluate(const Expression& expression, const NameValues& values) {
  if (expression.op == Op::Number) return expression.number;
  if (expression.op == Op::Name) return values(expression.name);
  Number result;
  for (const auto& operand : expression.operands) {
    const auto value = evaluate(operand, values);
    if (!value) return {};
    if (expression.operands.size() == 1)
      return expression.op == Op::Not ? Number(*value == 0) : binary(Op::Subtract, 0, *value);
    result = &operand == &expression.operands.front() ? value : binary(expression.op, *result, *value);
    if (!result) return {};
  }
  return result;
}

std::set<std::string> names_in(const Expression& expression) {
  std::set<std::string> names;
  if (expression.op == Op::Name) names.insert(expression.name);
  for (const auto& operand : expression.operands) names.merge(names_in(operand));
  return names;
}

}  // namespace antegrad::program
