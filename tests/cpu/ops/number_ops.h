#pragma once
// Pointwise ops of a tensor and a number, or a one-element tensor, and how close their results must be to
// eager's.
#include <ATen/ATen.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace antegrad::test {

/// How far a compiled result may be from eager's. Integers and booleans must be equal.
enum class Within {
  Bits,       ///< equal: comparisons, selections, results of one rounding
  Numbers,    ///< equal up to the sign of zero: the larger of 0 and -0
  Remainder,  ///< equal where the divisor is a normal number: for others LibTorch's vector loops give NaN
  Roundings,  ///< a few units in the last place: functions computed in another way
  Terms,      ///< a few units of the largest term of a sum: its products may be fused or rounded
  /// A few units. At NaN and in signs of zeros, LibTorch's own vector loops and scalar loops differ.
  Loops,
};

struct NumberOp {
  std::string name;
  Within within;
  /// x and y have the same dtype.
  std::function<at::Tensor(const at::Tensor& x, const at::Tensor& y, const at::Scalar& s)> run;
};

inline double magnitude(const at::Scalar& s) { return std::fabs(s.toDouble()); }

inline const std::vector<NumberOp>& ops_with_numbers() {
  using T = const at::Tensor&;
  using S = const at::Scalar&;
  using enum Within;
  static const std::vector<NumberOp> kOps = {
      {"eq", Bits, [](T x, T, S s) { return x.eq(s); }},
      {"ne", Bits, [](T x, T, S s) { return x.ne(s); }},
      {"lt", Bits, [](T x, T, S s) { return x.lt(s); }},
      {"le", Bits, [](T x, T, S s) { return x.le(s); }},
      {"gt", Bits, [](T x, T, S s) { return x.gt(s); }},
      {"ge", Bits, [](T x, T, S s) { return x.ge(s); }},
      {"add", Bits, [](T x, T, S s) { return x.add(s); }},
      {"sub", Bits, [](T x, T, S s) { return x.sub(s); }},
      {"rsub", Bits, [](T x, T, S s) { return at::rsub(x, s); }},
      {"mul", Bits, [](T x, T, S s) { return x.mul(s); }},
      {"div", Bits, [](T x, T, S s) { return x.div(s); }},
      {"div floor", Bits, [](T x, T, S s) { return x.div(s, "floor"); }},
      {"div trunc", Bits, [](T x, T, S s) { return x.div(s, "trunc"); }},
      {"floor_divide", Bits, [](T x, T, S s) { return x.floor_divide(s); }},
      {"remainder", Remainder, [](T x, T, S s) { return x.remainder(s); }},
      {"remainder of a number", Remainder, [](T x, T, S s) { return at::remainder(s, x); }},
      {"fmod", Remainder, [](T x, T, S s) { return x.fmod(s); }},
      {"add alpha", Terms, [](T x, T y, S s) { return x.add(y, s); }},
      {"sub alpha", Terms, [](T x, T y, S s) { return x.sub(y, s); }},
      {"rsub alpha", Terms, [](T x, T y, S s) { return at::rsub(x, y, s); }},
      {"add twice", Terms, [](T x, T, S s) { return x.add(s, 2); }},
      {"pow", Roundings, [](T x, T, S s) { return x.pow(s); }},
      {"pow of a number", Roundings, [](T x, T, S s) { return at::pow(s, x); }},
      {"copysign", Bits, [](T x, T, S s) { return at::copysign(x, s); }},
      {"xlogy", Roundings, [](T x, T, S s) { return at::xlogy(x, s); }},
      {"xlogy of a number", Roundings, [](T x, T, S s) { return at::xlogy(s, x); }},
      {"clamp_min", Bits, [](T x, T, S s) { return x.clamp_min(s); }},
      {"clamp_max", Bits, [](T x, T, S s) { return x.clamp_max(s); }},
      {"clamp", Bits, [](T x, T, S s) { return x.clamp(-magnitude(s), magnitude(s)); }},
      {"masked_fill", Bits, [](T x, T y, S s) { return x.masked_fill(y.gt(0), s); }},
      {"where self", Bits, [](T x, T y, S s) { return at::where(y.gt(0), s, x); }},
      {"where other", Bits, [](T x, T y, S s) { return at::where(y.gt(0), x, s); }},
      {"fill", Bits, [](T x, T, S s) { return at::fill(x, s); }},
      {"full_like", Bits, [](T x, T, S s) { return at::full_like(x, s); }},
      {"pad", Bits, [](T x, T, S s) { return at::constant_pad_nd(x, {1, 2}, s); }},
      {"bitwise_and", Bits, [](T x, T, S s) { return at::bitwise_and(x, s); }},
      {"bitwise_or", Bits, [](T x, T, S s) { return at::bitwise_or(x, s); }},
      {"bitwise_xor", Bits, [](T x, T, S s) { return at::bitwise_xor(x, s); }},
      {"hardshrink", Bits, [](T x, T, S s) { return at::hardshrink(x, s); }},
      {"hardshrink_backward", Bits, [](T x, T y, S s) { return at::hardshrink_backward(y, x, s); }},
      {"softshrink", Loops, [](T x, T, S s) { return at::softshrink(x, magnitude(s)); }},
      {"softshrink_backward", Bits, [](T x, T y, S s) { return at::softshrink_backward(y, x, s); }},
      {"threshold", Bits, [](T x, T, S s) { return at::threshold(x, s, 7); }},
      {"threshold to", Bits, [](T x, T, S s) { return at::threshold(x, 1, s); }},
      {"threshold_backward", Bits, [](T x, T y, S s) { return at::threshold_backward(y, x, s); }},
      {"leaky_relu", Bits, [](T x, T, S s) { return at::leaky_relu(x, s); }},
      {"leaky_relu_backward", Bits,
       [](T x, T y, S s) { return at::leaky_relu_backward(y, x, s, false); }},
      {"hardtanh", Bits, [](T x, T, S s) { return at::hardtanh(x, -magnitude(s), magnitude(s)); }},
      {"hardtanh_backward", Bits,
       [](T x, T y, S s) { return at::hardtanh_backward(y, x, -magnitude(s), magnitude(s)); }},
      {"elu", Roundings, [](T x, T, S s) { return at::elu(x, s); }},
      {"elu scale", Roundings, [](T x, T, S s) { return at::elu(x, 1.5, s); }},
      {"elu input scale", Roundings, [](T x, T, S s) { return at::elu(x, 1.5, 1.25, s); }},
      {"elu_backward", Loops, [](T x, T y, S s) { return at::elu_backward(y, s, 1, 1, false, x); }},
      {"elu_backward scale", Loops,
       [](T x, T y, S s) { return at::elu_backward(y, 1, s, 1, false, x); }},
      {"celu", Roundings, [](T x, T, S s) { return at::celu(x, s); }},
      {"softplus", Roundings, [](T x, T, S s) { return at::softplus(x, s, 20); }},
      {"softplus threshold", Roundings, [](T x, T, S s) { return at::softplus(x, 1, s); }},
      {"softplus_backward", Roundings, [](T x, T y, S s) { return at::softplus_backward(y, x, 1, s); }},
      {"lerp", Terms, [](T x, T y, S s) { return at::lerp(x, y, s); }},
      {"addcmul", Terms, [](T x, T y, S s) { return at::addcmul(x, y, y, s); }},
      {"logit_backward", Loops,
       [](T x, T y, S s) {
         TORCH_CHECK_VALUE(!std::isnan(s.toDouble()), "no number");
         return at::logit_backward(y, x, magnitude(s));
       }},
      {"native_dropout_backward", Bits,
       [](T x, T y, S s) {
         TORCH_CHECK_TYPE(x.is_floating_point(), "integers have no gradients");
         return at::native_dropout_backward(x, y.gt(0), s.toDouble());
       }},
  };
  return kOps;
}

struct TensorOp {
  std::string name;
  Within within;
  std::function<at::Tensor(const at::Tensor& x, const at::Tensor& y)> run;
};

/// Ops of two tensors with type promotion.
inline const std::vector<TensorOp>& ops_of_two_tensors() {
  using T = const at::Tensor&;
  using enum Within;
  static const std::vector<TensorOp> kOps = {
      {"eq", Bits, [](T x, T y) { return x.eq(y); }},
      {"ne", Bits, [](T x, T y) { return x.ne(y); }},
      {"lt", Bits, [](T x, T y) { return x.lt(y); }},
      {"le", Bits, [](T x, T y) { return x.le(y); }},
      {"gt", Bits, [](T x, T y) { return x.gt(y); }},
      {"ge", Bits, [](T x, T y) { return x.ge(y); }},
      {"logical_and", Bits, [](T x, T y) { return at::logical_and(x, y); }},
      {"logical_or", Bits, [](T x, T y) { return at::logical_or(x, y); }},
      {"logical_xor", Bits, [](T x, T y) { return at::logical_xor(x, y); }},
      {"add", Bits, [](T x, T y) { return x.add(y); }},
      {"add alpha", Terms, [](T x, T y) { return x.add(y, 2); }},
      {"sub", Bits, [](T x, T y) { return x.sub(y); }},
      {"mul", Bits, [](T x, T y) { return x.mul(y); }},
      {"div", Bits, [](T x, T y) { return x.div(y); }},
      {"remainder", Remainder, [](T x, T y) { return x.remainder(y); }},
      {"fmod", Remainder, [](T x, T y) { return x.fmod(y); }},
      {"floor_divide", Bits, [](T x, T y) { return x.floor_divide(y); }},
      {"div trunc", Bits, [](T x, T y) { return x.div(y, "trunc"); }},
      {"pow", Roundings, [](T x, T y) { return x.pow(y); }},
      {"maximum", Bits, [](T x, T y) { return at::maximum(x, y); }},
      {"minimum", Bits, [](T x, T y) { return at::minimum(x, y); }},
      {"fmax", Numbers, [](T x, T y) { return at::fmax(x, y); }},
      {"fmin", Numbers, [](T x, T y) { return at::fmin(x, y); }},
      {"atan2", Roundings, [](T x, T y) { return at::atan2(x, y); }},
      {"hypot", Roundings, [](T x, T y) { return at::hypot(x, y); }},
      {"copysign", Bits, [](T x, T y) { return at::copysign(x, y); }},
      {"nextafter", Bits, [](T x, T y) { return at::nextafter(x, y); }},
      {"logaddexp", Terms, [](T x, T y) { return at::logaddexp(x, y); }},
      {"logaddexp2", Terms, [](T x, T y) { return at::logaddexp2(x, y); }},
      {"xlogy", Roundings, [](T x, T y) { return at::xlogy(x, y); }},
      {"heaviside", Bits, [](T x, T y) { return at::heaviside(x, y); }},
      {"gcd", Bits, [](T x, T y) { return at::gcd(x, y); }},
      {"lcm", Bits, [](T x, T y) { return at::lcm(x, y); }},
      {"bitwise_and", Bits, [](T x, T y) { return at::bitwise_and(x, y); }},
      {"bitwise_or", Bits, [](T x, T y) { return at::bitwise_or(x, y); }},
      {"bitwise_xor", Bits, [](T x, T y) { return at::bitwise_xor(x, y); }},
      {"bitwise_left_shift", Bits, [](T x, T y) { return at::bitwise_left_shift(x, y); }},
      {"bitwise_right_shift", Bits, [](T x, T y) { return at::bitwise_right_shift(x, y); }},
      {"where", Bits, [](T x, T y) { return at::where(x.gt(0), x, y); }},
      {"masked_fill", Bits, [](T x, T y) { return x.masked_fill(x.gt(0), y); }},
      {"fill", Bits, [](T x, T y) { return at::fill(x, y); }},
      {"copy", Bits, [](T x, T y) { return x.clone().copy_(y); }},
      {"clamp_min", Bits, [](T x, T y) { return at::clamp_min(x, y); }},
      {"clamp_max", Bits, [](T x, T y) { return at::clamp_max(x, y); }},
      {"lerp", Terms, [](T x, T y) { return at::lerp(x, x.neg(), y); }},
      {"addcmul", Terms, [](T x, T y) { return at::addcmul(x, x, y); }},
      {"addcdiv", Terms, [](T x, T y) { return at::addcdiv(x, x, y); }},
  };
  return kOps;
}

/// Ops whose results jump or become NaN when an operand changes by a rounding.
inline const std::vector<TensorOp>& jumping_ops() {
  using T = const at::Tensor&;
  using enum Within;
  static const auto bounded = [](T x) { return at::where(x.abs().lt(1e4), x, 1); };
  static const std::vector<TensorOp> kOps = {
      {"to int", Bits, [](T x, T) { return bounded(x).to(at::kInt); }},
      {"to long", Bits, [](T x, T) { return bounded(x).to(at::kLong); }},
      {"to short", Bits, [](T x, T) { return bounded(x).to(at::kShort); }},
      {"to bool", Bits, [](T x, T) { return x.to(at::kBool); }},
      {"copy to int", Bits, [](T x, T) { return at::zeros_like(x, at::kInt).copy_(bounded(x)); }},
      {"as an index", Bits,
       [](T x, T) { return at::arange(20001).index_select(0, bounded(x).to(at::kLong).add(10000)); }},
      {"to float, floor", Bits, [](T x, T) { return x.to(at::kFloat).floor(); }},
      {"to double, times 3, round", Bits, [](T x, T) { return x.to(at::kDouble).mul(3).round(); }},
      {"and a float, floor", Bits,
       [](T x, T) {
         return x.mul(at::ones({1, 1}, at::kFloat)).floor()[0];
       }},
      {"and a float, lt", Bits, [](T x, T) { return x.add(at::zeros_like(x, at::kFloat)).lt(x); }},
      {"sum as float, floor", Bits,
       [](T x, T) { return bounded(x).unsqueeze(1).sum(1, false, at::kFloat).floor(); }},
      {"floor", Bits, [](T x, T) { return x.floor(); }},
      {"ceil", Bits, [](T x, T) { return x.ceil(); }},
      {"round", Bits, [](T x, T) { return x.round(); }},
      {"trunc", Bits, [](T x, T) { return x.trunc(); }},
      {"frac", Bits, [](T x, T) { return x.frac(); }},
      {"sign", Bits, [](T x, T) { return x.sign(); }},
      {"sgn", Bits, [](T x, T) { return x.sgn(); }},
      {"heaviside", Bits, [](T x, T y) { return at::heaviside(x, y); }},
      {"eq", Bits, [](T x, T y) { return x.eq(y); }},
      {"lt", Bits, [](T x, T y) { return x.lt(y); }},
      {"any", Bits,
       [](T x, T y) {
         return at::stack({x, y}, 1).any(1);
       }},
      {"all", Bits,
       [](T x, T y) {
         return at::stack({x, y}, 1).all(1);
       }},
      {"logical_and", Bits, [](T x, T y) { return at::logical_and(x, y); }},
      {"remainder", Remainder, [](T x, T y) { return x.remainder(y); }},
      {"remainder of 3", Remainder, [](T x, T) { return x.remainder(3); }},
      {"fmod", Remainder, [](T x, T y) { return x.fmod(y); }},
      {"fmod of 3", Remainder, [](T x, T) { return x.fmod(3); }},
      {"floor_divide", Bits, [](T x, T y) { return x.floor_divide(y); }},
      {"floor_divide by 3", Bits, [](T x, T) { return x.floor_divide(3); }},
      {"div trunc", Bits, [](T x, T y) { return x.div(y, "trunc"); }},
      {"div floor", Bits, [](T x, T y) { return x.div(y, "floor"); }},
      {"div trunc by 3", Bits, [](T x, T) { return x.div(3, "trunc"); }},
      {"threshold", Bits, [](T x, T) { return at::threshold(x, 0.3, 7).gt(6); }},
      {"threshold_backward", Bits, [](T x, T) { return at::threshold_backward(at::ones_like(x), x, 0.3); }},
      {"hardtanh_backward", Bits, [](T x, T) { return at::hardtanh_backward(at::ones_like(x), x, -1, 1); }},
      {"hardshrink", Bits, [](T x, T) { return at::hardshrink(x, 0.3).eq(0); }},
      {"sqrt", Roundings, [](T x, T) { return at::sqrt(x); }},
      {"log", Roundings, [](T x, T) { return at::log(x); }},
      {"acos", Roundings, [](T x, T) { return at::acos(x); }},
      {"pow", Roundings,
       [](T x, T) { return at::pow(at::full_like(x, -1.5), at::where(x.abs().lt(9), x, 0)).isnan(); }},
  };
  return kOps;
}

}  // namespace antegrad::test
