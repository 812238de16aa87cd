#pragma once
// Computes the expressions of ops.def in double precision.
#include <charconv>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace antegrad::schedule {

class Evaluator {
 public:
  Evaluator(std::string_view text, const std::vector<double>& arguments)
      : text_(text), arguments_(arguments) {}
  double run() {
    const auto result = ternary();
    if (take(""); at_ != text_.size()) fail();
    return result;
  }

 private:
  using Function = double (*)(const std::vector<double>&);

  [[noreturn]] void fail() const {
    throw std::logic_error("no meaning for \"" + std::string(text_) + "\" at " + std::to_string(at_));
  }
  bool take(std::string_view symbol) {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    if (!text_.substr(at_).starts_with(symbol)) return false;
    at_ += symbol.size();
    return true;
  }
  double ternary() {
    const auto condition = binary(0);
    if (!take("?")) return condition;
    const auto yes = ternary();
    if (!take(":")) fail();
    const auto no = ternary();
    return condition != 0 ? yes : no;
  }
  double binary(size_t level) {
    static const std::vector<std::vector<std::string_view>> kLevels{
        {"||"}, {"&&"}, {"==", "!="}, {"<=", ">=", "<", ">"}, {"+", "-"}, {"*", "/"}};
    if (level == kLevels.size()) return unary();
    auto left = binary(level + 1);
    for (bool found = true; found;) {
      found = false;
      for (const auto symbol : kLevels[level])
        if (!found && take(symbol)) {
          left = combined(symbol, left, binary(level + 1));
          found = true;
        }
    }
    return left;
  }
  static double combined(std::string_view symbol, double a, double b) {
    if (symbol == "||") return a != 0 || b != 0;
    if (symbol == "&&") return a != 0 && b != 0;
    if (symbol == "==") return a == b;
    if (symbol == "!=") return a != b;
    if (symbol == "<=") return a <= b;
    if (symbol == ">=") return a >= b;
    if (symbol == "<") return a < b;
    if (symbol == ">") return a > b;
    return symbol == "+" ? a + b : symbol == "-" ? a - b : symbol == "*" ? a * b : a / b;
  }
  double unary() {
    if (take("-")) return -unary();
    if (take("!")) return unary() == 0;
    if (take("(")) {
      const auto inside = ternary();
      if (!take(")")) fail();
      return inside;
    }
    take("");
    if (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      double number = 0;
      at_ = static_cast<size_t>(std::from_chars(text_.data() + at_, text_.data() + text_.size(), number).ptr -
                                text_.data());
      return number;
    }
    const auto begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      ++at_;
    const auto word = text_.substr(begin, at_ - begin);
    if (word.size() == 1 && static_cast<size_t>(word[0] - 'a') < arguments_.size())
      return arguments_[static_cast<size_t>(word[0] - 'a')];
    return call(word);
  }
  double call(std::string_view name) {
    static const std::map<std::string_view, Function> kFunctions{
        {"exp", [](const auto& x) { return std::exp(x[0]); }},
        {"log", [](const auto& x) { return std::log(x[0]); }},
        {"sqrt", [](const auto& x) { return std::sqrt(x[0]); }},
        {"rsqrt", [](const auto& x) { return 1 / std::sqrt(x[0]); }},
        {"tanh", [](const auto& x) { return std::tanh(x[0]); }},
        {"sigmoid", [](const auto& x) { return 1 / (1 + std::exp(-x[0])); }},
        {"abs", [](const auto& x) { return std::fabs(x[0]); }},
        {"pow", [](const auto& x) { return std::pow(x[0], x[1]); }},
        {"nan_max", [](const auto& x) { return std::isnan(x[0]) || x[0] > x[1] ? x[0] : x[1]; }},
        {"nan_min", [](const auto& x) { return std::isnan(x[0]) || x[0] < x[1] ? x[0] : x[1]; }},
        {"clamp_min", [](const auto& x) { return std::isnan(x[1]) || x[1] > x[0] ? x[1] : x[0]; }},
        {"clamp_max", [](const auto& x) { return std::isnan(x[1]) || x[1] < x[0] ? x[1] : x[0]; }},
        {"floor_div", [](const auto& x) { return std::floor(x[0] / x[1]); }},
        {"remainder", [](const auto& x) { return x[0] - std::floor(x[0] / x[1]) * x[1]; }},
    };
    const auto found = kFunctions.find(name);
    if (found == kFunctions.end() || !take("(")) fail();
    std::vector<double> arguments;
    do arguments.push_back(ternary());
    while (take(","));
    if (!take(")")) fail();
    return found->second(arguments);
  }

  std::string_view text_;
  const std::vector<double>& arguments_;
  size_t at_ = 0;
};

}  // namespace antegrad::schedule
