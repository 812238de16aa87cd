#include "optim/tensor_update.h"

#include <torch/types.h>

#include <cmath>
#include <utility>

#include "aten/convert.h"
#include "optim/elementwise.h"

namespace antegrad::optim {
namespace {

/// Calls LibTorch. Half types are computed in f32.
class TensorText {
 public:
  using Value = at::Tensor;

  TensorText(const Update& update, const at::Tensor* numbers)
      : update_(update),
        type_(update.formula.dtype == ir::DType::F64 ? at::kDouble : at::kFloat),
        parameter_(update.parameter.to(type_)),
        gradient_(update.gradient.to(type_)) {
    for (const auto& state : update.state) state_.push_back(state.to(type_));
    if (numbers != nullptr) numbers_ = numbers->to(type_);
  }

  const at::Tensor& parameter() const { return parameter_; }
  const at::Tensor& gradient() const { return gradient_; }
  const at::Tensor& state(int32_t i) const { return state_[i]; }
  const at::Tensor& new_parameter() const { return writes_[0].second; }

  static at::Tensor mul(const at::Tensor& a, const at::Tensor& b) { return a * b; }
  static at::Tensor add(const at::Tensor& a, const at::Tensor& b) { return a + b; }
  static at::Tensor sub(const at::Tensor& a, const at::Tensor& b) { return a - b; }
  static at::Tensor div(const at::Tensor& a, const at::Tensor& b) { return a / b; }
  static at::Tensor maximum(const at::Tensor& a, const at::Tensor& b) { return at::maximum(a, b); }
  static at::Tensor sqrt(const at::Tensor& a) { return at::sqrt(a); }
  static at::Tensor sign(const at::Tensor& a) { return at::sign(a); }
  at::Tensor mul(const at::Tensor& a, Number n) const {
    return numbers_.defined() ? a * number(n) : a * update_.numbers[n];
  }
  at::Tensor add(const at::Tensor& a, Number n) const {
    return numbers_.defined() ? a + number(n) : a + update_.numbers[n];
  }
  at::Tensor div(const at::Tensor& a, Number n) const {
    return numbers_.defined() ? a / number(n) : a / update_.numbers[n];
  }
  at::Tensor clamp(const at::Tensor& a, Number low, Number high) const {
    return numbers_.defined() ? at::clamp(a, number(low), number(high))
                              : at::clamp(a, update_.numbers[low], update_.numbers[high]);
  }
  at::Tensor clamp_min(const at::Tensor& a, Number n) const {
    return numbers_.defined() ? at::maximum(a, number(n)) : at::clamp_min(a, update_.numbers[n]);
  }

  void write_parameter(const at::Tensor& value) {
    writes_.insert(writes_.begin(), {update_.parameter, value});
  }
  void write_state(int32_t i, const at::Tensor& value) { writes_.emplace_back(update_.state[i], value); }
  void finish() const {
    for (const auto& [target, value] : writes_) target.detach().copy_(value);
  }

 private:
  at::Tensor number(Number n) const { return numbers_.select(0, n); }

  const Update& update_;
  const at::ScalarType type_;
  const at::Tensor parameter_, gradient_;
  at::Tensor numbers_;
  std::vector<at::Tensor> state_;
  std::vector<std::pair<at::Tensor, at::Tensor>> writes_;
};

at::Tensor length_of(const at::Tensor& a) { return (a * a).sum().sqrt(); }

void lamb(const Formula& formula, TensorText& text, const at::Tensor& gradient) {
  const auto mean = text.add(text.mul(text.state(0), kBeta1), text.mul(gradient, kOneMinusBeta1));
  const auto square = mean_of_squares(text, text.state(1), gradient);
  text.write_state(0, mean);
  text.write_state(1, square);
  const auto root = text.add(text.div(square.sqrt(), kCorrection), kEps);
  auto update = text.div(mean, kFirstCorrection) / root;
  if (formula.decays) update = update + text.mul(text.parameter(), kDecay);
  const auto size = length_of(text.parameter()), length = length_of(update);
  const auto ratio = at::where((size > 0).logical_and(length > 0), size / length, at::ones_like(size));
  text.write_parameter(text.parameter() + text.mul(update * ratio, kStep));
}

void adafactor(const Formula& formula, TensorText& text, const at::Tensor& gradient) {
  const auto elements = static_cast<double>(gradient.numel());
  if (elements == 0) return;
  const auto root_mean_square = [&](const at::Tensor& a) { return length_of(a) / std::sqrt(elements); };
  const auto step = text.mul(text.clamp_min(root_mean_square(text.parameter()), kLeastSize), kStep);
  auto parameter = text.parameter();
  if (formula.decays) parameter = text.mul(parameter, kDecay);
  const auto averaged = [&](int32_t state, const at::Tensor& now) {
    auto average = text.add(text.mul(text.state(state), kBeta2), text.mul(now, kOneMinusBeta2));
    text.write_state(state, average);
    return average;
  };
  const auto squares = gradient * gradient;
  at::Tensor estimate;
  if (formula.factored) {
    const auto rows = averaged(0, squares.mean(-1, true)), columns = averaged(1, squares.mean(-2, true));
    estimate = rows * columns / text.clamp_min(rows.mean(-2, true), kEps);
  } else {
    estimate = averaged(0, squares);
  }
  // The square root of the larger of the estimate and the square of eps.
  const auto update = gradient / text.clamp_min(estimate.sqrt(), kEps);
  const auto excess = at::clamp_min(text.div(root_mean_square(update), kMostSize), 1);
  text.write_parameter(parameter + update * (step / excess));
}

/// Pushes the singular values of a matrix towards 1.
at::Tensor orthogonalized(const Formula& formula, const at::Tensor& matrix) {
  const auto [a, b, c, least] = formula.coefficients;
  const bool tall = matrix.size(0) > matrix.size(1);
  auto x = matrix.to(aten::to_torch(formula.inner));
  if (tall) x = x.t();
  x = x / x.norm().clamp_min(least);
  for (int i = 0; i < formula.iterations; ++i) {
    const auto gram = x.mm(x.t());
    x = at::addmm(x, at::addmm(gram, gram, gram, b, c), x, a);
  }
  return tall ? x.t() : x;
}

void muon(const Formula& formula, TensorText& text, const at::Tensor& gradient) {
  const auto momentum = text.add(text.mul(text.state(0), kBeta1), text.mul(gradient, kOneMinusBeta1));
  text.write_state(0, momentum);
  auto update = momentum;
  if (formula.nesterov) update = text.add(text.mul(gradient, kOneMinusBeta1), text.mul(momentum, kBeta1));
  update = orthogonalized(formula, update).to(gradient.scalar_type());
  auto parameter = text.parameter();
  if (formula.decays) parameter = text.mul(parameter, kDecay);
  text.write_parameter(text.add(parameter, text.mul(update, kStep)));
}

void apply(const Update& update, const at::Tensor* numbers) {
  const auto& formula = update.formula;
  TensorText text(update, numbers);
  if (is_elementwise(formula.method)) {
    apply_elementwise(formula, text);
  } else {
    const auto gradient = prepared_gradient(formula, text);
    if (formula.method == Method::Lamb) lamb(formula, text, gradient);
    if (formula.method == Method::Adafactor) adafactor(formula, text, gradient);
    if (formula.method == Method::Muon) muon(formula, text, gradient);
  }
  text.finish();
}

}  // namespace

void apply_to_tensors(const Update& update) { apply(update, nullptr); }
void apply_to_tensors(const Update& update, const at::Tensor& numbers) { apply(update, &numbers); }

}  // namespace antegrad::optim
