// Activations that a single expression of ops_pointwise.def cannot express, and their derivatives.
#include <cmath>
#include <numbers>

#include "passes/decompositions/decompositions.h"

namespace antegrad::passes {
namespace {

/// The tensor argument, in the dtype that the call computes in.
Value wide_tensor(Builder& b, const Call& call, size_t i) {
  return b.to(call.tensor(i), wide(call.output_type(0).dtype));
}

bool uses_tanh(const Call& call) {
  const auto& given = call.keyword("approximate");
  if (given == ir::Arg() || given == ir::Arg("none")) return false;
  if (!(given == ir::Arg("tanh"))) throw NotHandled();
  return true;
}

constexpr double kCubic = 0.044715;
const double kInner = std::sqrt(2) * std::numbers::inv_sqrtpi;  // of the tanh approximation

/// The tanh approximation in other terms: gelu(x) = x * s, where s = (1 + tanh(u)) / 2 = sigmoid(2u) and
/// u = sqrt(2 / pi) * (x + 0.044715 x^3). This is cheaper, and does not cancel where tanh(u) is near -1.
struct GeluShare {
  Value square;  ///< of x
  Value share;   ///< s
};

GeluShare gelu_share(Builder& b, Value x) {
  const auto square = b.square(x);
  const auto argument = b.mul(b.add(b.mul(square, 2 * kInner * kCubic), 2 * kInner), x);
  return {square, b.sigmoid(argument)};
}

/// The cumulative distribution function of the standard normal distribution.
Value normal_cdf(Builder& b, Value x) {
  const auto erf = b.unary("aten.erf", b.mul(x, std::numbers::sqrt2 / 2));
  return b.mul(b.add(erf, 1.0), 0.5);
}

void gelu(Builder& b, const Call& call) {
  const auto x = wide_tensor(b, call, 0);
  b.define(call.output(0), b.mul(x, uses_tanh(call) ? gelu_share(b, x).share : normal_cdf(b, x)));
}

void gelu_backward(Builder& b, const Call& call) {
  const auto grad = wide_tensor(b, call, 0), x = wide_tensor(b, call, 1);
  if (!uses_tanh(call)) {
    const double scale = std::numbers::inv_sqrtpi / std::numbers::sqrt2;
    const auto density = b.mul(b.exp(b.mul(b.square(x), -0.5)), scale);
    b.define(call.output(0), b.mul(grad, b.add(normal_cdf(b, x), b.mul(x, density))));
    return;
  }
  const auto [square, share] = gelu_share(b, x);
  const auto argument_slope = b.add(b.mul(square, 6 * kInner * kCubic), 2 * kInner);
  const auto slope = b.add(b.mul(b.mul(x, b.rsub(share, 1.0)), argument_slope), 1.0);
  b.define(call.output(0), b.mul(b.mul(grad, share), slope));
}

void silu_backward(Builder& b, const Call& call) {
  const auto grad = wide_tensor(b, call, 0), x = wide_tensor(b, call, 1);
  const auto sigmoid = b.sigmoid(x);
  const auto slope = b.add(b.mul(x, b.rsub(sigmoid, 1.0)), 1.0);
  b.define(call.output(0), b.mul(b.mul(grad, sigmoid), slope));
}

void mish_backward(Builder& b, const Call& call) {
  const auto grad = wide_tensor(b, call, 0), x = wide_tensor(b, call, 1);
  const auto tanh = b.unary("aten.tanh", b.log1p(b.exp(x)));
  const auto slope = b.mul(b.mul(x, b.sigmoid(x)), b.rsub(b.square(tanh), 1.0));
  b.define(call.output(0), b.mul(grad, b.add(tanh, slope)));
}

/// Outputs: log(sigmoid(x)) and exp(-|x|), which the backward op reads.
void log_sigmoid_forward(Builder& b, const Call& call) {
  const auto x = wide_tensor(b, call, 0);
  const auto buffer = b.exp(b.neg(b.abs(x)));
  const auto result = b.sub(b.clamp_max(x, 0), b.log1p(buffer));
  b.define(call.output(0), result);
  b.define(call.output(1), buffer);
}

void prelu_backward(Builder& b, const Call& call) {
  const auto grad = wide_tensor(b, call, 0), x = wide_tensor(b, call, 1), weight = wide_tensor(b, call, 2);
  const auto positive = b.compare("gt", x, 0.0);
  const auto by_input = b.where(positive, grad, b.mul(weight, grad));
  const auto by_weight = b.where(positive, 0.0, b.mul(x, grad));
  b.define(call.output(0), by_input);
  b.define(call.output(1), by_weight);
}

struct Halves {
  int64_t dim;
  Value first, second;
};

Halves halves(Builder& b, const Call& call, size_t tensor, size_t dim_at) {
  const auto x = wide_tensor(b, call, tensor);
  const auto dim = call.wrapped(call.integer(dim_at, -1), b.rank(x));
  const auto size = b.sizes(x)[dim];
  const auto middle = floor_div(size, 2);
  return {dim, b.slice(x, dim, 0, middle), b.slice(x, dim, middle, size)};
}

void glu(Builder& b, const Call& call) {
  const auto [dim, first, second] = halves(b, call, 0, 1);
  b.define(call.output(0), b.mul(first, b.sigmoid(second)));
}

void glu_backward(Builder& b, const Call& call) {
  const auto grad = wide_tensor(b, call, 0);
  const auto [dim, first, second] = halves(b, call, 1, 2);
  const auto gate = b.sigmoid(second);
  const auto by_first = b.mul(gate, grad);
  const auto by_second = b.mul(b.mul(b.rsub(gate, 1.0), by_first), first);
  auto type = call.output_type(0);
  type.dtype = b.type(grad).dtype;
  b.define(call.output(0), b.emit("aten.cat", {ir::Arg::List{by_first, by_second}, dim}, std::move(type)));
}

constexpr DecompositionRow kActivationsRows[] = {
    {"aten.gelu", gelu},
    {"aten.gelu_backward", gelu_backward},
    {"aten.silu_backward", silu_backward},
    {"aten.mish_backward", mish_backward},
    {"aten.log_sigmoid_forward", log_sigmoid_forward},
    {"aten._prelu_kernel_backward", prelu_backward},
    {"aten.glu", glu},
    {"aten.glu_backward", glu_backward},
};

}  // namespace

std::span<const DecompositionRow> activation_decompositions() { return kActivationsRows; }

}  // namespace antegrad::passes
