#pragma once
#include "optim/formula.h"

// Formulas that treat each element by itself, in the words of a `Text`: FormulaText makes nodes of a graph of
// them, TensorText calls LibTorch.
namespace antegrad::optim {

template <class Text>
using Value = typename Text::Value;

/// a * factor + b * b * weight
template <class Text>
Value<Text> mean_of_squares(Text& text, const Value<Text>& a, const Value<Text>& b) {
  return text.add(text.mul(a, kBeta2), text.mul(text.mul(b, kOneMinusBeta2), b));
}

template <class Text>
void sgd(const Formula& formula, Text& text, Value<Text> gradient) {
  if (formula.momentum) {
    const auto buffer = text.add(text.mul(text.state(0), kBeta1), text.mul(gradient, kOneMinusBeta1));
    text.write_state(0, buffer);
    gradient = formula.nesterov ? text.add(gradient, text.mul(buffer, kBeta1)) : buffer;
  }
  text.write_parameter(text.add(text.parameter(), text.mul(gradient, kStep)));
}

template <class Text>
void adam(const Formula& formula, Text& text, const Value<Text>& gradient) {
  auto parameter = text.parameter();
  if (formula.decays && formula.decoupled) parameter = text.mul(parameter, kDecay);
  const auto mean = text.add(text.mul(text.state(0), kBeta1), text.mul(gradient, kOneMinusBeta1));
  auto square = mean_of_squares(text, text.state(1), gradient);
  text.write_state(0, mean);
  text.write_state(1, square);
  if (formula.amsgrad) {
    square = text.maximum(square, text.state(2));
    text.write_state(2, square);
  }
  const auto root = text.add(text.div(text.sqrt(square), kCorrection), kEps);
  text.write_parameter(text.add(parameter, text.div(text.mul(mean, kStep), root)));
}

template <class Text>
void adagrad(const Formula&, Text& text, const Value<Text>& gradient) {
  const auto sum = text.add(text.state(0), text.mul(gradient, gradient));
  text.write_state(0, sum);
  const auto root = text.add(text.sqrt(sum), kEps);
  text.write_parameter(text.add(text.parameter(), text.div(text.mul(gradient, kStep), root)));
}

template <class Text>
void rms_prop(const Formula& formula, Text& text, const Value<Text>& gradient) {
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

template <class Text>
void lion(const Formula& formula, Text& text, const Value<Text>& gradient) {
  auto parameter = text.parameter();
  if (formula.decays) parameter = text.mul(parameter, kDecay);
  const auto mixed = text.add(text.mul(text.state(0), kBeta1), text.mul(gradient, kOneMinusBeta1));
  text.write_parameter(text.add(parameter, text.mul(text.sign(mixed), kStep)));
  text.write_state(0, text.add(text.mul(text.state(0), kBeta2), text.mul(gradient, kOneMinusBeta2)));
}

template <class Text>
void nadam(const Formula& formula, Text& text, const Value<Text>& gradient) {
  auto parameter = text.parameter();
  if (formula.decays && formula.decoupled) parameter = text.mul(parameter, kDecay);
  const auto mean = text.add(text.mul(text.state(0), kBeta1), text.mul(gradient, kOneMinusBeta1));
  const auto square = mean_of_squares(text, text.state(1), gradient);
  text.write_state(0, mean);
  text.write_state(1, square);
  const auto root = text.add(text.div(text.sqrt(square), kCorrection), kEps);
  const auto step = text.add(text.mul(gradient, kGradientStep), text.mul(mean, kStep));
  text.write_parameter(text.add(parameter, text.div(step, root)));
}

/// The gradient as the method takes it: scaled, clamped, with the part of a weight decay that goes through
/// it.
template <class Text>
Value<Text> prepared_gradient(const Formula& formula, Text& text) {
  auto gradient = text.gradient();
  if (formula.scales) gradient = text.mul(gradient, kScale);
  if (formula.clamps) gradient = text.clamp(gradient, kLowest, kHighest);
  if (formula.decays && !formula.decoupled) gradient = text.add(gradient, text.mul(text.parameter(), kDecay));
  return gradient;
}

template <class Text>
void write_average(const Formula& formula, Text& text) {
  if (!formula.averages) return;
  const auto last = states_of_method(formula);
  const auto old = text.state(last);
  text.write_state(last, text.add(old, text.mul(text.sub(text.new_parameter(), old), kAverage)));
}

template <class Text>
void apply_elementwise(const Formula& formula, Text& text) {
  const auto gradient = prepared_gradient(formula, text);
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
    case Method::Lion:
      lion(formula, text, gradient);
      break;
    case Method::NAdam:
      nadam(formula, text, gradient);
      break;
    case Method::Lamb:
    case Method::Adafactor:
    case Method::Muon:
      break;  // tensor_text.h
  }
  write_average(formula, text);
}

}  // namespace antegrad::optim
