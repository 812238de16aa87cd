#include <algorithm>
#include <array>
#include <cmath>

#include "ir/element.h"
#include "ir/ops.h"
#include "schedule/item.h"
#include "schedule/promotion.h"
#include "schedule/sizes.h"

namespace antegrad::schedule {
namespace {

using ir::DType;

bool is_comparison(std::string_view expression) {
  return expression.find("==") != std::string_view::npos || expression.find("!=") != std::string_view::npos ||
         expression.find('<') != std::string_view::npos || expression.find('>') != std::string_view::npos;
}

/// Ops that are continuous where their comparisons change, or that take logarithms of positive numbers only.
constexpr std::array<std::string_view, 11> kContinuous = {
    "aten.relu",        "aten.leaky_relu",  "aten._prelu_kernel", "aten.elu",  "aten.celu", "aten.softplus",
    "aten.lerp.Scalar", "aten.lerp.Tensor", "aten.softshrink",    "aten.sinc", "aten.mish"};

/// Functions that are discontinuous, or undefined on one side of some number.
constexpr std::array<std::string_view, 21> kJumping = {
    "floor(", "ceil(", "trunc(", "round_even(", "_div(",  "remainder(", "fmod(",
    "sgn(",   "pow(",  "sqrt(",  "log(",        "log2(",  "log10(",     "log1p(",
    "xlogy(", "asin(", "acos(",  "acosh(",      "atanh(", "erfinv(",    "gamma("};

/// Whether operands that differ by a rounding error may have results that differ by a lot.
bool jumps(std::string_view op, std::string_view expression) {
  if (std::ranges::find(kContinuous, op) != kContinuous.end()) return false;
  const auto calls = [&](std::string_view name) { return expression.find(name) != std::string_view::npos; };
  return is_comparison(expression) || std::ranges::any_of(kJumping, calls);
}

struct Default {
  std::string_view op;
  size_t position;
  double value;
};
/// Defaults of arguments that graphs omit.
constexpr Default kDefaults[] = {
    {"aten.add.Tensor", 2, 1},   {"aten.add.Scalar", 2, 1},  {"aten.sub.Tensor", 2, 1},
    {"aten.sub.Scalar", 2, 1},   {"aten.rsub.Tensor", 2, 1}, {"aten.rsub.Scalar", 2, 1},
    {"aten.leaky_relu", 1, .01}, {"aten.hardtanh", 1, -1},   {"aten.hardtanh", 2, 1},
    {"aten.softplus", 1, 1},     {"aten.softplus", 2, 20},   {"aten.celu", 1, 1},
    {"aten.hardshrink", 1, .5},  {"aten.softshrink", 1, .5}, {"aten.elu", 1, 1},
    {"aten.elu", 2, 1},          {"aten.elu", 3, 1},         {"aten.addcmul", 3, 1},
    {"aten.addcdiv", 3, 1},
};

/// Whether LibTorch has the op for floating types only although its formula would work on integers. The names
/// are prefixes.
bool is_of_floats(std::string_view op) {
  constexpr std::array<std::string_view, 8> kNames = {
      "aten.leaky_relu", "aten.hardtanh_backward", "aten.hardshrink",       "aten.softshrink",
      "aten.lerp",       "aten._prelu_kernel",     "aten.sigmoid_backward", "aten.tanh_backward"};
  return std::ranges::any_of(kNames, [&](std::string_view name) { return op.starts_with(name); });
}

/// Whether no value depends on this keyword argument, given the type of the result.
bool is_about_memory(std::string_view name) {
  constexpr std::array<std::string_view, 6> kNames = {"dtype",         "layout",     "device",
                                                      "memory_format", "pin_memory", "non_blocking"};
  return std::ranges::find(kNames, name) != kNames.end();
}

class PointwiseLowering {
 public:
  PointwiseLowering(const ir::Graph& graph, ir::NodeId index, const Settings& settings)
      : graph_(graph), node_(graph.node(index)), settings_(settings) {
    item_.node = index;
    item_.output = node_.outputs[0];
    item_.sizes = graph.tensor_type(item_.output).sizes;
  }

  std::vector<Item> run(std::string& why) {
    const auto* info = ir::find_op(node_.op);
    item_.expression = info->expression;
    if (!collect()) {
      why = "an argument is of a kind that generated code does not handle";
      return {};
    }
    if (!specialise()) {
      why = "generated code does not support this form of the op";
      return {};
    }
    if (!choose_types()) {
      why = "its type cannot represent one of its numbers";
      return {};
    }
    if (item_.result == DType::Bool || jumps(node_.op, item_.expression)) round_operands();
    if (item_.expression.empty() || !settings_.supports(item_.expression, item_.computes)) {
      why = item_.expression.empty() ? "the op has no formula"
                                     : "generated code has no such function for its type";
      return {};
    }
    item_.expensive = item_.expression.find('(') != std::string::npos &&
                      item_.expression.find("max(") == std::string::npos &&
                      item_.expression.find("min(") == std::string::npos &&
                      item_.expression.find("sqrt") == std::string::npos;
    return {item_};
  }

 private:
  bool add(const ir::Arg& arg) {
    if (const auto* value = arg.as<ir::ValueId>()) {
      if (!is_lowered_type(graph_.type_of(*value))) return false;
      item_.operands.push_back({*value, {}, DType::F32});
      return true;
    }
    const auto number = as_number(arg);
    if (number) item_.operands.push_back({{}, *number, DType::F32});
    return number.has_value();
  }

  const ir::Arg* attr(std::string_view name) const {
    for (const auto& attr : node_.attrs)
      if (attr.name == name) return &attr.value;
    return nullptr;
  }

  /// Operands in the order of the schema.
  bool collect() {
    for (const auto& attr : node_.attrs)
      if (!is_about_memory(attr.name) && attr.name != "alpha" && attr.name != "rounding_mode") return false;
    for (const auto& arg : node_.args) {
      if (item_.operands.size() == 1 && (node_.op == "aten._to_copy" || node_.op == "aten.clone")) break;
      if (arg.as<ir::None>()) {  // an absent bound of clamp
        missing_.push_back(item_.operands.size());
        item_.operands.push_back({{}, int64_t{0}, DType::F32});
        continue;
      }
      if (!add(arg)) return false;
    }
    if (const auto* alpha = attr("alpha"); alpha != nullptr && !add(*alpha)) return false;
    for (const auto& row : kDefaults)
      if (row.op == node_.op && item_.operands.size() == row.position) {
        const bool whole = row.value == std::floor(row.value);
        item_.operands.push_back(
            {{}, whole ? Number(static_cast<int64_t>(row.value)) : Number(row.value), DType::F32});
      }
    return true;
  }

  bool is_number(size_t position, double value) const {
    if (position >= item_.operands.size() || item_.operands[position].value.valid()) return false;
    return equals(item_.operands[position].number, value);
  }
  bool is_missing(size_t position) const {
    return position >= item_.operands.size() || std::ranges::find(missing_, position) != missing_.end();
  }
  bool integral() const { return !ir::is_floating(graph_.tensor_type(item_.output).dtype); }
  /// Whether LibTorch rounds a quotient to a half type before it truncates it, which generated code does not.
  bool rounds_quotient() const {
    const auto& divisor = item_.operands[1].value;
    return ir::is_half(graph_.tensor_type(item_.output).dtype) && divisor.valid() &&
           !graph_.tensor_type(divisor).numel().is(1);
  }
  /// Whether an integer divisor cannot be zero; LibTorch reports a division by zero.
  bool safe_divisor() const {
    const auto& operand = item_.operands[1];
    if (!integral()) return true;
    if (operand.value.valid() || is_number(1, 0)) return false;
    const auto* dim = std::get_if<ir::Dim>(&operand.number);
    const auto dtype = graph_.tensor_type(item_.output).dtype;
    const bool is_wide = dtype == DType::I64 || dtype == DType::I32;
    return dim == nullptr || (is_wide && is_at_least(graph_, *dim, 1));
  }

  bool specialise() {
    auto& text = item_.expression;
    if (integral() && is_of_floats(node_.op)) return false;
    const auto is = [&](std::string_view stem) { return node_.op.starts_with(stem); };
    const bool is_sum = is("aten.add.") || is("aten.sub.") || is("aten.rsub.");
    if (is_sum && integral() && std::holds_alternative<double>(item_.operands[2].number)) {
      return false;  // LibTorch rejects a fractional alpha for integers
    } else if (is_sum && is_number(2, 1)) {
      text = is("aten.add.") ? "a + b" : is("aten.sub.") ? "a - b" : "b - a";
      item_.operands.pop_back();
    } else if (is("aten.pow.Tensor_Scalar")) {
      return specialise_power();
    } else if (is("aten.clamp")) {
      if (is("aten.clamp_")) return true;
      if (is_missing(1) && is_missing(2)) return false;
      const bool is_of_tensors = node_.op == "aten.clamp.Tensor";
      if (is_missing(1)) {
        text = is_of_tensors ? "nan_min(a, b)" : "clamp_max(a, b)";
        item_.operands.erase(item_.operands.begin() + 1);
      } else if (is_missing(2)) {
        text = is_of_tensors ? "nan_max(a, b)" : "clamp_min(a, b)";
        item_.operands.resize(2);
      }
    } else if (is("aten.div.")) {
      const auto* mode = attr("rounding_mode");
      if (node_.op == "aten.div.Tensor_mode" || node_.op == "aten.div.Scalar_mode") {
        const auto* name = mode == nullptr ? nullptr : mode->as<std::string>();
        text = name == nullptr ? "a / b" : *name == "floor" ? "floor_div(a, b)" : "trunc_div(a, b)";
        return name == nullptr || (safe_divisor() && !rounds_quotient());
      }
    } else if (is("aten.floor_divide")) {
      text = "floor_div(a, b)";
      return safe_divisor() && !rounds_quotient();
    } else if (is("aten.remainder.") || is("aten.fmod.")) {
      text = is("aten.fmod.") ? "fmod(a, b)" : "remainder(a, b)";
      return item_.operands.size() == 2 && safe_divisor();
    } else if (is("aten.bitwise_left_shift") || is("aten.bitwise_right_shift") || is("aten.pow.Scalar")) {
      return !is("aten.bitwise");
    } else if (node_.op == "aten.celu") {
      specialise_celu();
    } else if (node_.op == "aten.nextafter") {
      return !ir::is_half(graph_.tensor_type(item_.output).dtype);  // the next f32 is not the next half
    } else if (is("aten.bitwise_not") && graph_.tensor_type(item_.output).dtype == DType::Bool) {
      text = "a == 0";
    } else if (is("aten.sigmoid") && node_.op == "aten.sigmoid") {
      text = "sigmoid(a)";
    } else if (node_.op == "aten.silu") {
      text = "a * sigmoid(a)";
    } else if (node_.op == "aten.rsqrt") {
      text = "rsqrt(a)";
    } else if (node_.op == "aten.copy" || is("aten.fill.")) {
      text = "a";
      item_.operands.erase(item_.operands.begin());
    }
    return true;
  }

  /// LibTorch multiplies by the reciprocal of alpha, computed in double.
  void specialise_celu() {
    const auto* real = std::get_if<double>(&item_.operands[1].number);
    const auto* integer = std::get_if<int64_t>(&item_.operands[1].number);
    if (real == nullptr && integer == nullptr) return;
    const double alpha = real != nullptr ? *real : static_cast<double>(*integer);
    item_.expression = "a < 0 ? expm1(a * c) * b : a";
    item_.operands.push_back({{}, 1 / alpha, DType::F32});
  }

  /// Chooses the formula for exponents that LibTorch special-cases.
  bool specialise_power() {
    if (integral()) {
      item_.expression = is_number(1, 2) ? "a * a" : is_number(1, 3) ? "a * a * a" : "";
    } else {
      item_.expression = is_number(1, 2)      ? "a * a"
                         : is_number(1, 3)    ? "a * a * a"
                         : is_number(1, 1)    ? "a"
                         : is_number(1, 0.5)  ? "sqrt(a)"
                         : is_number(1, -0.5) ? "rsqrt(a)"
                         : is_number(1, -1)   ? "1 / a"
                         : is_number(1, -2)   ? "1 / (a * a)"
                                              : "pow(a, b)";
    }
    if (item_.expression != "pow(a, b)") item_.operands.resize(1);
    return !item_.expression.empty();
  }

  /// Returns false as convert_operands does.
  bool choose_types() {
    const auto output = graph_.tensor_type(item_.output).dtype;
    item_.result = item_.computes = compute_type(output);
    auto common = output;
    const bool selects = node_.op.starts_with("aten.where") || node_.op.starts_with("aten.masked_fill");
    const bool copies = item_.expression == "a";
    if (output == DType::Bool && !selects && !copies) {
      // Sums and products of booleans are computed as integers; nonzero results are true.
      const bool is_sum =
          !is_comparison(item_.expression) && item_.expression.find("(a)") == std::string::npos;
      if (!is_sum) common = promoted();
      item_.computes = compute_type(common);
      if (is_sum) item_.computes = item_.result = DType::I32;
    }
    for (auto& operand : item_.operands) operand.type = item_.computes;
    const size_t condition = node_.op.starts_with("aten.where") ? 0 : 1;
    if (copies && item_.operands[0].value.valid()) {
      item_.operands[0].type = item_.computes = item_.result =
          compute_type(graph_.tensor_type(item_.operands[0].value).dtype);
      if (graph_.tensor_type(item_.operands[0].value).dtype != output) round_operands();
      return true;
    }
    if (!convert_operands(graph_, node_.op, common, item_.operands)) return false;
    if (selects) {
      item_.operands[condition].type = DType::Bool;
      item_.operands[condition].rounds.reset();
    }
    return true;
  }

  /// Rounds half-precision operands to their stored values: truncation, comparison, or finding the maximum
  /// again must see the number that is stored.
  void round_operands() {
    for (auto& operand : item_.operands) {
      if (!operand.value.valid() || operand.rounds) continue;
      const auto dtype = graph_.tensor_type(operand.value).dtype;
      if (ir::is_half(dtype)) operand.rounds = dtype;
    }
  }

  DType promoted() const {
    Promotion promotion;
    for (const auto& operand : item_.operands) {
      if (operand.value.valid())
        promotion.add(graph_.tensor_type(operand.value));
      else
        promotion.add(operand.number);
    }
    return promotion.result();
  }

  const ir::Graph& graph_;
  const ir::Node& node_;
  const Settings& settings_;
  Item item_;
  std::vector<size_t> missing_;  ///< positions of absent operands
};

}  // namespace

std::vector<Item> lower_pointwise(const ir::Graph& graph, ir::NodeId node, const Settings& settings,
                                  std::string& why) {
  return PointwiseLowering(graph, node, settings).run(why);
}

}  // namespace antegrad::schedule
