#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace antegrad::program {

/// A whole number or a truth value computed from sizes. Sizes of inputs are expressions over symbols in
/// sympy's notation; the conditions of a program are Python text over sizes of arguments.
struct Expression {
  enum class Op {
    Number,
    Name,  ///< of a symbol, or of a size: "x.size()[0]"
    Add,
    Subtract,
    Multiply,
    FloorDivide,
    Modulo,
    Power,
    Negate,
    Max,
    Min,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    And,
    Or,
    Not
  };
  Op op = Op::Number;
  int64_t number = 0;
  std::string name;
  std::vector<Expression> operands;
};

/// Parses sympy's srepr(): "Mul(Integer(2), Symbol('s0', positive=True))". Nothing if it has anything else.
std::optional<Expression> parse_srepr(const std::string& text);
/// Parses "(3*L['x'].size()[0]) % 2 == 0" and the like. Nothing if it has anything else.
std::optional<Expression> parse_guard(const std::string& text);

/// Returns the value of a name, or nothing.
using NameValues = std::function<std::optional<int64_t>(const std::string& name)>;
/// Returns nothing if a name has no value, or on overflow and division by zero. Truth values are 0 and 1.
std::optional<int64_t> evaluate(const Expression& expression, const NameValues& values);
std::set<std::string> names_in(const Expression& expression);

}  // namespace antegrad::program
