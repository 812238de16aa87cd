#include "codegen/text/expression.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <limits>
#include <numbers>

#include "antegrad/error.h"
#include "codegen/text/c_text.h"
#include "codegen/text/functions.h"
#include "schedule/kernel.h"

namespace antegrad::codegen {
namespace {

using ir::DType;

/// A printed subexpression: the precedence of its outermost operator (larger binds tighter), and whether its
/// value is 0 or 1.
struct Piece {
  std::string text;
  int binding = 0;
  bool is_truth = false;
};

constexpr int kTernary = 1, kLogical = 2, kShift = 9, kUnary = 12, kPrimary = 13;

struct Operator {
  std::string_view symbol;
  int binding;
  enum Kind : uint8_t { Logical, Bitwise, Comparison, Shift, Arithmetic } kind;
};
/// Longer symbols precede their prefixes.
constexpr std::array<Operator, 18> kOperators{{
    {"||", 2, Operator::Logical},
    {"&&", 3, Operator::Logical},
    {"==", 7, Operator::Comparison},
    {"!=", 7, Operator::Comparison},
    {"<<", 9, Operator::Shift},
    {">>", 9, Operator::Shift},
    {"<=", 8, Operator::Comparison},
    {">=", 8, Operator::Comparison},
    {"|", 4, Operator::Bitwise},
    {"^", 5, Operator::Bitwise},
    {"&", 6, Operator::Bitwise},
    {"<", 8, Operator::Comparison},
    {">", 8, Operator::Comparison},
    {"+", 10, Operator::Arithmetic},
    {"-", 10, Operator::Arithmetic},
    {"*", 11, Operator::Arithmetic},
    {"/", 11, Operator::Arithmetic},
    {"%", 11, Operator::Arithmetic},
}};

/// A recursive-descent parser that prints as it reads.
class Printer {
 public:
  Printer(std::string_view text, DType operand, const std::vector<std::string>& arguments,
          std::set<std::string>& functions)
      : text_(text), type_(schedule::compute_type(operand)), arguments_(arguments), functions_(functions) {}

  std::string run() {
    auto result = ternary();
    skip_space();
    if (at_ != text_.size()) fail("text after the expression");
    return std::move(result.text);
  }

 private:
  [[noreturn]] void fail(std::string_view fact) const {
    throw Error(ErrorCode::Internal, "codegen:expression",
                fmt::format("{} in \"{}\" at {} for {}", fact, text_, at_, ir::name(type_)));
  }

  bool is_floating() const { return type_ == DType::F32 || type_ == DType::F64; }
  /// C computes narrower types in int.
  bool is_narrow() const { return type_ != DType::Bool && ir::size_in_bytes(type_) < 4; }

  void skip_space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(std::string_view symbol) {
    skip_space();
    if (!text_.substr(at_).starts_with(symbol)) return false;
    at_ += symbol.size();
    return true;
  }
  void expect(std::string_view symbol) {
    if (!take(symbol)) fail(fmt::format("no '{}'", symbol));
  }

  static std::string within(const Piece& piece, int binding) {
    return piece.binding < binding ? "(" + piece.text + ")" : piece.text;
  }
  static Piece truth(const Piece& piece) {
    return piece.is_truth ? piece : Piece{within(piece, kUnary) + " != 0", 7, true};
  }

  Piece ternary() {
    auto condition = binary(kLogical);
    if (!take("?")) return condition;
    const auto yes = ternary();
    expect(":");
    const auto no = ternary();
    return {fmt::format("{} ? {} : {}", within(condition, kLogical), within(yes, kTernary + 1),
                        within(no, kTernary)),
            kTernary, yes.is_truth && no.is_truth};
  }

  const Operator* peek_operator() {
    skip_space();
    for (const auto& one : kOperators)
      if (text_.substr(at_).starts_with(one.symbol)) return &one;
    return nullptr;
  }

  Piece binary(int least) {
    auto left = unary();
    for (const auto* one = peek_operator(); one != nullptr && one->binding >= least; one = peek_operator()) {
      at_ += one->symbol.size();
      left = combine(*one, left, binary(one->binding + 1));
    }
    return left;
  }

  Piece combine(const Operator& op, const Piece& left, const Piece& right) {
    switch (op.kind) {
      case Operator::Logical:  // without branches, which would prevent vectorisation
        return {fmt::format("({}) {} ({})", truth(left).text, op.symbol.substr(0, 1), truth(right).text),
                op.symbol == "&&" ? 6 : 4, true};
      case Operator::Shift:
        if (is_floating()) fail("a shift of floating point numbers");
        return {call_text(op.symbol == "<<" ? "shift_left" : "shift_right", left.text + ", " + right.text),
                kPrimary, false};
      case Operator::Bitwise:
        if (is_floating()) fail("bitwise operators on floating point numbers");
        return {fmt::format("{} {} {}", within(left, kUnary), op.symbol, within(right, kUnary)), op.binding,
                left.is_truth && right.is_truth};
      case Operator::Comparison:
        return {fmt::format("{} {} {}", within(left, kShift), op.symbol, within(right, kShift)), op.binding,
                true};
      case Operator::Arithmetic:
        break;
    }
    return rounded(
        {fmt::format("{} {} {}", within(left, op.binding), op.symbol, within(right, op.binding + 1)),
         op.binding, false});
  }

  Piece rounded(const Piece& piece) const {
    if (!is_narrow()) return piece;
    return {fmt::format("({})({})", scalar_type(type_), piece.text), kUnary, false};
  }

  Piece unary() {
    if (take("-")) return rounded({"-" + within(unary(), kPrimary), kUnary, false});
    if (take("~")) {
      if (is_floating()) fail("bitwise operators on floating point numbers");
      const auto operand = unary();
      if (type_ == DType::Bool) return {"!" + within(operand, kUnary), kUnary, true};
      return rounded({"~" + within(operand, kUnary), kUnary, false});
    }
    if (take("!")) return {"!" + within(unary(), kUnary), kUnary, true};
    return primary();
  }

  Piece primary() {
    skip_space();
    if (take("(")) {
      auto inside = ternary();
      expect(")");
      return inside;
    }
    if (at_ >= text_.size()) fail("the expression ends too early");
    const char first = text_[at_];
    if ((first >= '0' && first <= '9') || first == '.') return number();
    const auto begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      ++at_;
    const auto word = text_.substr(begin, at_ - begin);
    if (word.empty()) fail("an unexpected character");
    if (take("(")) return call(word);
    return named(word);
  }

  Piece number() {
    double value = 0;
    const auto* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc()) fail("a malformed number");
    const std::string_view digits(begin, end - begin);
    at_ += digits.size();
    if (is_floating()) return {literal(type_, value), kPrimary, false};
    if (digits.find_first_of(".e") != std::string_view::npos) fail("a fraction among integers");
    return {std::string(digits), kPrimary, digits == "0" || digits == "1"};
  }

  Piece named(std::string_view word) {
    if (word.size() == 1 && word[0] >= 'a' && word[0] <= 'h') {
      const size_t index = word[0] - 'a';
      if (index >= arguments_.size()) fail("an argument that is not given");
      return {arguments_[index], kPrimary, false};
    }
    if (!is_floating()) fail("a floating point constant among integers");
    if (word == "pi") return {literal(type_, std::numbers::pi), kPrimary, false};
    if (word == "inf") return {literal(type_, std::numeric_limits<double>::infinity()), kPrimary, false};
    if (word == "nan") return {literal(type_, std::numeric_limits<double>::quiet_NaN()), kPrimary, false};
    fail("an unknown name");
  }

  std::string call_text(std::string_view function, const std::string& arguments) {
    const auto name = function_name(function, type_);
    if (!name) fail(fmt::format("no function {}", function));
    if (name->starts_with("ag_")) functions_.insert(*name);
    return fmt::format("{}({})", *name, arguments);
  }

  Piece call(std::string_view function) {
    std::string arguments;
    do arguments += (arguments.empty() ? "" : ", ") + ternary().text;
    while (take(","));
    expect(")");
    return {call_text(function, arguments), kPrimary, false};
  }

  std::string_view text_;
  DType type_;
  const std::vector<std::string>& arguments_;
  std::set<std::string>& functions_;
  size_t at_ = 0;
};

/// Replaces expressions for which there is a more accurate or faster function.
std::string_view preferred(std::string_view text) {
  if (text == "1 / (1 + exp(-a))") return "sigmoid(a)";
  return text;
}

}  // namespace

std::string expression_text(std::string_view text, DType operand, const std::vector<std::string>& arguments,
                            std::set<std::string>& functions) {
  return Printer(ir::is_floating(operand) ? preferred(text) : text, operand, arguments, functions).run();
}

bool expression_supported(std::string_view text, DType operand) {
  static const auto& kArguments = *new const std::vector<std::string>{"a", "b", "c", "d", "e", "f", "g", "h"};
  std::set<std::string> functions;
  if (text.empty() || ir::is_complex(operand)) return false;
  try {
    expression_text(text, operand, kArguments, functions);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace antegrad::codegen
