// Two small grammars with one scanner. A parser that cannot go on returns nothing, all the way up.
#include <cctype>
#include <charconv>
#include <map>

#include "program/expression.h"

namespace antegrad::program {
namespace {

constexpr int kDeepestExpression = 100;
constexpr size_t kLongestExpression = 10'000;  ///< a sum of n terms is n levels deep
using Parsed = std::optional<Expression>;

class ExpressionScanner {
 public:
  explicit ExpressionScanner(const std::string& text) : text_(text) {}

  bool at_end() {
    skip_spaces();
    return at_ == text_.size();
  }
  bool take(std::string_view token) {
    skip_spaces();
    if (text_.compare(at_, token.size(), token) != 0) return false;
    if (std::isalpha(static_cast<unsigned char>(token[0])) && at_ + token.size() < text_.size() &&
        is_word(text_[at_ + token.size()]))
      return false;
    at_ += token.size();
    return true;
  }
  std::optional<int64_t> number() {
    skip_spaces();
    int64_t value = 0;
    const auto* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc() || end == begin) return {};
    at_ += end - begin;
    if (at_ < text_.size() && text_[at_] == '.') return {};  // a real number
    return value;
  }
  std::string word() {
    skip_spaces();
    const auto begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  std::optional<std::string> quoted() {
    skip_spaces();
    if (at_ == text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return {};
    const auto end = text_.find(text_[at_], at_ + 1);
    if (end == text_.npos) return {};
    auto out = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return out.find('\\') == out.npos ? std::optional(out) : std::nullopt;
  }

 private:
  static bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
  void skip_spaces() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }

  const std::string& text_;
  size_t at_ = 0;
};

Parsed joined(Expression::Op op, Expression a, Expression b) {
  Expression out;
  out.op = op;
  out.operands = {std::move(a), std::move(b)};
  return out;
}

class SreprParser : ExpressionScanner {
 public:
  using ExpressionScanner::ExpressionScanner;

  Parsed whole() {
    auto out = call(0);
    return out && at_end() ? out : Parsed();
  }

 private:
  Parsed call(int depth) {
    if (depth > kDeepestExpression) return {};
    const auto name = word();
    if (!take("(")) return {};
    if (name == "Integer") return closed(integer());
    if (name == "Symbol") return symbol();
    static const auto& ops = *new std::map<std::string, Expression::Op>{
        {"Add", Expression::Op::Add},           {"Mul", Expression::Op::Multiply},
        {"Pow", Expression::Op::Power},         {"FloorDiv", Expression::Op::FloorDivide},
        {"Mod", Expression::Op::Modulo},        {"PythonMod", Expression::Op::Modulo},
        {"Max", Expression::Op::Max},           {"Min", Expression::Op::Min},
        {"PowByNatural", Expression::Op::Power}};
    const auto op = ops.find(name);
    if (op == ops.end()) return {};
    Expression out;
    out.op = op->second;
    do {
      auto operand = call(depth + 1);
      if (!operand) return {};
      out.operands.push_back(std::move(*operand));
    } while (take(","));
    if (out.operands.size() < 2) return {};
    return closed(std::move(out));
  }
  Parsed closed(Parsed inner) { return inner && take(")") ? inner : Parsed(); }
  Parsed integer() {
    const auto value = number();
    if (!value) return {};
    Expression out;
    out.number = *value;
    return out;
  }
  Parsed symbol() {
    const auto name = quoted();
    if (!name) return {};
    while (take(","))  // assumptions: positive=True
      if (word().empty() || !take("=") || word().empty()) return {};
    Expression out;
    out.op = Expression::Op::Name;
    out.name = *name;
    return closed(std::move(out));
  }
};

/// Python's precedences: or, and, not, comparison, sum, product, sign, power.
class GuardParser : ExpressionScanner {
 public:
  using ExpressionScanner::ExpressionScanner;

  Parsed whole() {
    auto out = either();
    return out && at_end() ? out : Parsed();
  }

 private:
  using Op = Expression::Op;
  struct Depth {
    explicit Depth(int& depth) : depth(depth) { ++depth; }
    ~Depth() { --depth; }
    int& depth;
  };

  template <class Next>
  Parsed chain(std::initializer_list<std::pair<const char*, Op>> ops, Next next) {
    auto left = next();
    for (bool more = true; left && more;) {
      more = false;
      for (const auto& [token, op] : ops) {
        if (!take(token)) continue;
        auto right = next();
        left = right ? joined(op, std::move(*left), std::move(*right)) : Parsed();
        more = true;
        break;
      }
    }
    return left;
  }

  Parsed either() {
    const Depth depth(depth_);
    if (depth_ > kDeepestExpression) return {};
    return chain({{"or", Op::Or}}, [&] { return both(); });
  }
  Parsed both() {
    return chain({{"and", Op::And}}, [&] { return negated(); });
  }
  Parsed negated() {
    int count = 0;
    while (count < kDeepestExpression && take("not")) ++count;
    auto out = comparison();
    for (; out && count > 0; --count) out = one(Op::Not, std::move(*out));
    return out;
  }
  /// a < b < c is (a < b) and (b < c).
  Parsed comparison() {
    auto left = sum();
    Parsed all;
    while (left) {
      const auto op = comparison_op();
      if (!op) return all ? all : left;
      auto right = sum();
      if (!right) return {};
      auto here = joined(*op, std::move(*left), *right);
      all = all ? joined(Op::And, std::move(*all), std::move(*here)) : here;
      left = std::move(right);
    }
    return {};
  }
  std::optional<Op> comparison_op() {
    for (const auto& [token, op] : std::initializer_list<std::pair<const char*, Op>>{{"==", Op::Equal},
                                                                                     {"!=", Op::NotEqual},
                                                                                     {"<=", Op::LessEqual},
                                                                                     {">=", Op::GreaterEqual},
                                                                                     {"<", Op::Less},
                                                                                     {">", Op::Greater}})
      if (take(token)) return op;
    return {};
  }
  Parsed sum() {
    return chain({{"+", Op::Add}, {"-", Op::Subtract}}, [&] { return product(); });
  }
  Parsed product() {
    return chain({{"//", Op::FloorDivide}, {"%", Op::Modulo}, {"*", Op::Multiply}}, [&] { return sign(); });
  }
  Parsed sign() {
    int count = 0;
    while (count < kDeepestExpression && take("-")) ++count;
    auto out = power();
    for (; out && count > 0; --count) out = one(Op::Negate, std::move(*out));
    return out;
  }
  Parsed power() {
    auto base = atom();
    if (!base || !take("**")) return base;
    const Depth depth(depth_);
    if (depth_ > kDeepestExpression) return {};
    auto exponent = sign();
    return exponent ? joined(Op::Power, std::move(*base), std::move(*exponent)) : Parsed();
  }
  Parsed atom() {
    if (take("(")) {
      auto inner = either();
      return inner && take(")") ? inner : Parsed();
    }
    if (take("L")) return size();
    for (const auto& [name, op] : {std::pair{"max", Op::Max}, std::pair{"min", Op::Min}}) {
      if (!take(name)) continue;
      if (!take("(")) return {};
      auto a = either();
      if (!a || !take(",")) return {};
      auto b = either();
      return b && take(")") ? joined(op, std::move(*a), std::move(*b)) : Parsed();
    }
    const auto value = number();
    if (!value) return {};
    Expression out;
    out.number = *value;
    return out;
  }
  /// L['x'].size()[0], L['x'][1]['key'].size()[0], or the number L['n'] itself.
  Parsed size() {
    Expression out;
    out.op = Op::Name;
    while (take("[")) {
      if (const auto key = quoted()) {
        out.name += "['" + *key + "']";
      } else if (const auto index = number()) {
        out.name += "[" + std::to_string(*index) + "]";
      } else {
        return {};
      }
      if (!take("]")) return {};
    }
    if (out.name.empty()) return {};
    if (!take(".")) return out;
    const auto what = word();
    if ((what != "size" && what != "stride") || !take("(") || !take(")") || !take("[")) return {};
    const auto dim = number();
    if (!dim || !take("]")) return {};
    out.name += "." + what + "()[" + std::to_string(*dim) + "]";
    return out;
  }
  static Parsed one(Op op, Expression operand) {
    Expression out;
    out.op = op;
    out.operands.push_back(std::move(operand));
    return out;
  }

  int depth_ = 0;
};

}  // namespace

Parsed parse_srepr(const std::string& text) {
  return text.size() > kLongestExpression ? Parsed() : SreprParser(text).whole();
}

Parsed parse_guard(const std::string& text) {
  return text.size() > kLongestExpression ? Parsed() : GuardParser(text).whole();
}

}  // namespace antegrad::program
