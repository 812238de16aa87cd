#include "optim/formula.h"

#include <fmt/format.h>

#include <vector>

namespace antegrad::optim {
namespace {

using Name = std::string;  ///< of a value: "%3"

/// Writes nodes one after the other. Half types are converted when they are read and when they are written.
class FormulaText {
 public:
  explicit FormulaText(const Formula& formula)
      : given_(fmt::format("{}[s0]", ir::name(formula.dtype))),
        type_(formula.dtype == ir::DType::F64 ? "f64[s0]" : "f32[s0]") {
    for (int32_t i = 0; i < 2 + states(formula); ++i) {
      inputs_.push_back(next());
      head_ += fmt::format("  in {}: {} user\n", inputs_.back(), given_);
    }
    numbers_ = next();
    head_ += fmt::format("  in {}: f64[{}] user\n", numbers_, static_cast<int32_t>(kNumbers));
    if (given_ == type_) return;
    for (auto& input : inputs_) input = convert(input, type_);
  }

  Name parameter() const { return inputs_[0]; }
  Name gradient() const { return inputs_[1]; }
  Name state(int32_t i) const { return inputs_[2 + i]; }

  Name number(Number n) {
    auto value = next();
    const auto offset = n == 0 ? "" : fmt::format("+{}", static_cast<int32_t>(n));
    nodes_ += fmt::format("  {}: f64[]{} &{} = aten.select.int({}, 0, {})\n", value, offset, numbers_,
                          numbers_, static_cast<int32_t>(n));
    return value;
  }
  Name mul(const Name& a, const Name& b) { return node("aten.mul.Tensor", a, b); }
  Name mul(const Name& a, Number n) { return mul(a, number(n)); }
  Name add(const Name& a, const Name& b) { return node("aten.add.Tensor", a, b); }
  Name add(const Name& a, Number n) { return add(a, number(n)); }
  Name div(const Name& a, const Name& b) { return node("aten.div.Tensor", a, b); }
  Name sub(const Name& a, const Name& b) { return node("aten.sub.Tensor", a, b); }
  Name maximum(const Name& a, const Name& b) { return node("aten.maximum", a, b); }
  Name sqrt(const Name& a) { return node("aten.sqrt", a); }
  Name clamp(const Name& a, Number low, Number high) {
    const auto from = number(low), to = number(high);
    return node("aten.clamp.Tensor", a, from, to);
  }

  void write(int32_t input, Name value) {
    if (given_ != type_) value = convert(value, given_);
    outputs_ += fmt::format("  out {} mutated {}\n", value, input);
  }
  void write_parameter(const Name& value) {
    new_parameter_ = value;
    write(0, value);
  }
  void write_average(int32_t state) {
    const auto old = this->state(state);
    write_state(state, add(old, mul(sub(new_parameter_, old), kAverage)));
  }
  void write_state(int32_t i, const Name& value) { write(2 + i, value); }

  std::string text() const {
    return fmt::format("graph @optimizer_step functional [s0: 1.. ~ 65536] {{\n{}{}{}}}\n", head_, nodes_,
                       outputs_);
  }

 private:
  Name convert(const Name& value, const std::string& type) {
    auto result = next();
    nodes_ += fmt::format("  {}: {} = aten._to_copy({}, dtype={})\n", result, type, value,
                          type.substr(0, type.find('[')));
    return result;
  }
  Name next() { return fmt::format("%{}", values_++); }
  template <class... Arguments>
  Name node(const char* op, const Name& first, const Arguments&... rest) {
    auto value = next();
    nodes_ += fmt::format("  {}: {} = {}({}", value, type_, op, first);
    ((nodes_ += ", " + rest), ...);
    nodes_ += ")\n";
    return value;
  }

  std::string given_, type_, head_, nodes_, outputs_;
  std::vector<Name> inputs_;
  Name numbers_, new_parameter_;
  int32_t values_ = 0;
};

/// a * factor + b * b * weight
Name mean_of_squares(FormulaText& text, const Name& a, const Name& b) {
  return text.add(text.mul(a, kBeta2), text.mul(text.mul(b, kOneMinusBeta2), b));
}

void sgd(const Formula& formula, FormulaText& text, Name gradient) {
  if (formula.momentum) {
    const auto buffer = text.add(text.mul(text.state(0), kBeta1), text.mul(gradient, kOneMinusBeta1));
    text.write_state(0, buffer);
    gradient = formula.nesterov ? text.add(gradient, text.mul(buffer, kBeta1)) : buffer;
  }
  text.write_parameter(text.add(text.parameter(), text.mul(gradient, kStep)));
}

void adam(const Formula& formula, FormulaText& text, const Name& gradient) {
  auto parameter = text.parameter();
  if (formula.method == Method::AdamW && formula.decays) parameter = text.mul(parameter, kDecay);
  const auto mean = text.add(text.mul(text.state(0), kBeta1), text.mul(gradient, kOneMinusBeta1));
  auto square = mean_of_squares(text, text.state(1), gradient);
  text.write_state(0, mean);
  text.write_state(1, square);
  if (formula.amsgrad) {
    square = text.maximum(square, text.state(2));
    text.write_state(2, square);
  }
  const auto root = text.add(text.div(text.sqrt(square), text.number(kCorrection)), kEps);
  text.write_parameter(text.add(parameter, text.div(text.mul(mean, kStep), root)));
}

void adagrad(const Formula&, FormulaText& text, const Name& gradient) {
  const auto sum = text.add(text.state(0), text.mul(gradient, gradient));
  text.write_state(0, sum);
  const auto root = text.add(text.sqrt(sum), kEps);
  text.write_parameter(text.add(text.parameter(), text.div(text.mul(gradient, kStep), root)));
}

void rms_prop(const Formula& formula, FormulaText& text, const Name& gradient) {
  auto square = mean_of_squares(text, text.state(0), gradient);
  text.write_state(0, square);
  if (formula.centered) {
    const int32_t position = formula.momentum ? 2 : 1;
    const auto mean = text.add(text.mul(text.state(position), kBeta2), text.mul(gradient, kOneMinusBeta2));
    text.write_state(position, mean);
    square = text.sub(square, text.mul(mean, mean));
  }
  const auto root = text.add(text.sqrt(square), kEps);
  if (!formula.momentum)
    return text.write_parameter(text.add(text.parameter(), text.div(text.mul(gradient, kStep), root)));
  const auto buffer = text.add(text.mul(text.state(1), kBeta1), text.div(gradient, root));
  text.write_state(1, buffer);
  text.write_parameter(text.add(text.parameter(), text.mul(buffer, kStep)));
}

}  // namespace

/// Without the average.
static int32_t states_of_method(const Formula& formula) {
  switch (formula.method) {
    case Method::Sgd:
      return formula.momentum ? 1 : 0;
    case Method::Adam:
    case Method::AdamW:
      return formula.amsgrad ? 3 : 2;
    case Method::Adagrad:
      return 1;
    case Method::RmsProp:
      return 1 + (formula.momentum ? 1 : 0) + (formula.centered ? 1 : 0);
  }
  return 0;
}

int32_t states(const Formula& formula) { return states_of_method(formula) + (formula.averages ? 1 : 0); }

std::string graph_text(const Formula& formula) {
  FormulaText text(formula);
  auto gradient = text.gradient();
  if (formula.scales) gradient = text.mul(gradient, kScale);
  if (formula.clamps) gradient = text.clamp(gradient, kLowest, kHighest);
  if (formula.decays && formula.method != Method::AdamW)
    gradient = text.add(gradient, text.mul(text.parameter(), kDecay));
  switch (formula.method) {
    case Method::Sgd:
      sgd(formula, text, gradient);
      break;
    case Method::Adam:
    case Method::AdamW:
      adam(formula, text, gradient);
      break;
    case Method::Adagrad:
      adagrad(formula, text, gradient);
      break;
    case Method::RmsProp:
      rms_prop(formula, text, gradient);
      break;
  }
  if (formula.averages) text.write_average(states_of_method(formula));
  return text.text();
}

}  // namespace antegrad::optim
