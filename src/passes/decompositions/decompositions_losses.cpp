// Elementwise losses of a prediction and a target, and their derivatives.
#include "passes/decompositions/decompositions.h"

namespace antegrad::passes {
namespace {

int64_t reduction_of(const Call& call, size_t i) {
  const auto reduction = call.integer(i, kMean);
  if (reduction < kNone || reduction > kSum) throw NotHandled();
  return reduction;
}

/// Tensor arguments, in the dtype that the call computes in.
class Operands {
 public:
  Operands(Builder& b, const Call& call) : b_(b), call_(call), dtype_(wide(call.output_type(0).dtype)) {}
  Value operator()(size_t i) const { return b_.to(call_.tensor(i), dtype_); }
  /// Multiplies a tensor by an optional factor.
  Value scaled(Value x, size_t factor) const {
    const auto by = call_.optional_tensor(factor);
    return by.valid() ? b_.mul(x, b_.to(by, dtype_)) : x;
  }

 private:
  Builder& b_;
  const Call& call_;
  ir::DType dtype_;
};

void define_reduced(Builder& b, const Call& call, Value losses, int64_t reduction) {
  const auto dims = b.all_dims(losses);
  if (reduction == kMean) losses = b.mean(losses, dims);
  if (reduction == kSum) losses = b.sum(losses, dims);
  b.define(call.output(0), losses);
}

/// The gradient of the loss of one element: the gradient of a mean is divided by the number of elements.
Value shared_out(Builder& b, Value grad, Value input, int64_t reduction) {
  return reduction == kMean ? b.div(grad, b.count(input, b.all_dims(input))) : grad;
}

void mse_loss(Builder& b, const Call& call) {
  const Operands operand(b, call);
  define_reduced(b, call, b.square(b.sub(operand(0), operand(1))), reduction_of(call, 2));
}

void mse_loss_backward(Builder& b, const Call& call) {
  const Operands operand(b, call);
  const auto grad = shared_out(b, b.mul(operand(0), 2.0), operand(1), reduction_of(call, 3));
  b.define(call.output(0), b.mul(b.sub(operand(1), operand(2)), grad));
}

void smooth_l1_loss(Builder& b, const Call& call) {
  const Operands operand(b, call);
  const auto beta = call.number(3, 1);
  const auto distance = b.abs(b.sub(operand(0), operand(1)));
  const auto near = b.div(b.mul(b.square(distance), 0.5), beta);
  const auto losses = b.where(b.compare("lt", distance, beta), near, b.sub(distance, 0.5 * beta));
  define_reduced(b, call, losses, reduction_of(call, 2));
}

void huber_loss(Builder& b, const Call& call) {
  const Operands operand(b, call);
  const auto delta = call.number(3, 1);
  const auto distance = b.abs(b.sub(operand(0), operand(1)));
  const auto near = b.mul(b.square(distance), 0.5);
  const auto far = b.mul(b.sub(distance, 0.5 * delta), delta);
  define_reduced(b, call, b.where(b.compare("lt", distance, delta), near, far), reduction_of(call, 2));
}

/// `near` within `bound` of the target, ±far beyond it.
Value by_distance(Builder& b, Value difference, double bound, Value near, Value far) {
  const auto above = b.where(b.compare("ge", difference, bound), far, near);
  return b.where(b.compare("le", difference, -bound), b.neg(far), above);
}

void smooth_l1_loss_backward(Builder& b, const Call& call) {
  const Operands operand(b, call);
  const auto beta = call.number(4);
  const auto difference = b.sub(operand(1), operand(2));
  const auto grad = shared_out(b, operand(0), operand(1), reduction_of(call, 3));
  const auto near = b.div(b.mul(difference, grad), beta);
  b.define(call.output(0), by_distance(b, difference, beta, near, grad));
}

void huber_loss_backward(Builder& b, const Call& call) {
  const Operands operand(b, call);
  const auto delta = call.number(4);
  const auto difference = b.sub(operand(1), operand(2));
  const auto grad = shared_out(b, operand(0), operand(1), reduction_of(call, 3));
  b.define(call.output(0), by_distance(b, difference, delta, b.mul(difference, grad), b.mul(grad, delta)));
}

/// Like LibTorch, rejects predictions that are not probabilities, and clamps logarithms to at least -100.
void binary_cross_entropy(Builder& b, const Call& call) {
  const Operands operand(b, call);
  const auto x = operand(0), target = operand(1);
  const auto inside = b.both(b.compare("ge", x, 0.0), b.compare("le", x, 1.0));
  b.require(b.reduce("aten.all.dims", inside, b.all_dims(inside), false),
            "all elements of input should be between 0 and 1");
  const auto of_zeros = b.mul(b.sub(target, 1.0), b.clamp_min(b.log1p(b.neg(x)), -100));
  const auto of_ones = b.mul(target, b.clamp_min(b.log(x), -100));
  define_reduced(b, call, operand.scaled(b.sub(of_zeros, of_ones), 2), reduction_of(call, 3));
}

void binary_cross_entropy_backward(Builder& b, const Call& call) {
  const Operands operand(b, call);
  const auto x = operand(1);
  const auto grad = shared_out(b, operand(0), x, reduction_of(call, 4));
  const auto spread = b.clamp_min(b.mul(b.rsub(x, 1.0), x), 1e-12);
  const auto result = b.div(b.mul(grad, b.sub(x, operand(2))), spread);
  b.define(call.output(0), operand.scaled(result, 3));
}

/// (1 - t) x - w log(sigmoid(x)) with w = (pos_weight - 1) t + 1; the logarithm is computed without overflow.
void binary_cross_entropy_with_logits(Builder& b, const Call& call) {
  const Operands operand(b, call);
  const auto x = operand(0), target = operand(1);
  auto log_sigmoid = b.sub(b.clamp_max(x, 0), b.log1p(b.exp(b.neg(b.abs(x)))));
  if (call.optional_tensor(3).valid())
    log_sigmoid = b.mul(log_sigmoid, b.add(b.mul(b.sub(operand(3), 1.0), target), 1.0));
  const auto losses = b.sub(b.mul(b.rsub(target, 1.0), x), log_sigmoid);
  define_reduced(b, call, operand.scaled(losses, 2), reduction_of(call, 4));
}

void soft_margin_loss(Builder& b, const Call& call) {
  const Operands operand(b, call);
  define_reduced(b, call, b.log1p(b.exp(b.mul(b.neg(operand(0)), operand(1)))), reduction_of(call, 2));
}

void soft_margin_loss_backward(Builder& b, const Call& call) {
  const Operands operand(b, call);
  const auto x = operand(1), target = operand(2);
  const auto exp = b.exp(b.mul(b.neg(target), x));
  const auto grad = shared_out(b, b.neg(operand(0)), x, reduction_of(call, 3));
  b.define(call.output(0), b.mul(b.div(b.mul(target, exp), b.add(exp, 1.0)), grad));
}

constexpr DecompositionRow kLossesRows[] = {
    {"aten.mse_loss", mse_loss},
    {"aten.mse_loss_backward", mse_loss_backward},
    {"aten.smooth_l1_loss", smooth_l1_loss},
    {"aten.smooth_l1_loss_backward", smooth_l1_loss_backward},
    {"aten.huber_loss", huber_loss},
    {"aten.huber_loss_backward", huber_loss_backward},
    {"aten.binary_cross_entropy", binary_cross_entropy},
    {"aten.binary_cross_entropy_backward", binary_cross_entropy_backward},
    {"aten.binary_cross_entropy_with_logits", binary_cross_entropy_with_logits},
    {"aten.soft_margin_loss", soft_margin_loss},
    {"aten.soft_margin_loss_backward", soft_margin_loss_backward},
};

}  // namespace

std::span<const DecompositionRow> loss_decompositions() { return kLossesRows; }

}  // namespace antegrad::passes
