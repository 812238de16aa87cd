// Batch normalization in all its variants.
#include "passes/decompositions/decompositions.h"

namespace antegrad::passes {
namespace {

/// The positions of a forward op's arguments.
struct Form {
  int running_mean = 3;  ///< followed by the variance; -1 if there is none
  int training = 5;      ///< -1 if never in training mode
  int momentum = 6;      ///< followed by eps
};

/// A batch [N, C, …] that is normalized per channel.
struct Batch {
  ir::DType dtype;
  Value x;
  Dims dims;  ///< all except the channels

  Batch(Builder& b, Value input) : dtype(wide(b.type(input).dtype)), x(b.to(input, dtype)) {
    if (b.rank(x) < 2) throw NotHandled();
    for (auto dim : b.all_dims(x))
      if (dim != 1) dims.push_back(dim);
  }

  /// Converts [C] to the dtype of the batch and lays it along its channels.
  Value channels(Builder& b, Value x_of_channels) const {
    if (!x_of_channels.valid()) return {};
    return b.along(b.to(x_of_channels, dtype), 1, b.rank(x));
  }
};

Value required(Value x) {
  if (!x.valid()) throw NotHandled();
  return x;
}

Value normalized(Builder& b, const Batch& batch, const Call& call, Value mean, Value invstd) {
  auto result = b.mul(b.sub(batch.x, mean), invstd);
  if (const auto weight = batch.channels(b, call.optional_tensor(1)); weight.valid())
    result = b.mul(result, weight);
  if (const auto bias = batch.channels(b, call.optional_tensor(2)); bias.valid())
    result = b.add(result, bias);
  return result;
}

/// momentum * batch + (1 - momentum) * running
Value updated(Builder& b, Value running, Value batch, double momentum) {
  const auto dtype = b.type(batch).dtype;
  return b.add(b.mul(b.to(running, dtype), 1 - momentum), b.mul(batch, momentum));
}

/// The updated statistics are outputs 3 and 4, if the op writes them or is functional.
void define_running(Builder& b, const Call& call, const Form& form, const Batch& batch, Value mean,
                    Value variance) {
  if (call.output_count() == 3) return;
  if (call.output_count() != 5 || form.running_mean < 0) throw NotHandled();
  const size_t at = form.running_mean;
  const auto momentum = call.number(form.momentum);
  const auto count = b.count(batch.x, batch.dims);
  const auto unbiased = b.div(b.mul(variance, count), count - 1);
  const auto new_mean = updated(b, call.tensor(at), mean, momentum);
  const auto new_variance = updated(b, call.tensor(at + 1), unbiased, momentum);
  b.define(call.output(3), new_mean);
  b.define(call.output(4), new_variance);
}

/// Long sums are added up in blocks, and thus accurate enough that a correction as in moments_of does not
/// pay.
Moments moments(Builder& b, const Batch& batch) {
  constexpr int64_t kLong = 1024;
  const auto plain = b.mean(batch.x, batch.dims);
  if (b.likely(b.count(batch.x, batch.dims)) < kLong) {
    const auto [mean, variance] = moments_of(b, batch.x, batch.dims, false);
    // Infinite numbers make the corrected mean NaN, but not LibTorch's.
    return {b.where(b.compare("eq", mean, mean), mean, plain), b.to(variance, batch.dtype)};
  }
  return {plain, b.mean(b.square(b.sub(batch.x, batch.channels(b, plain))), batch.dims)};
}

void train(Builder& b, const Call& call, const Form& form) {
  const Batch batch(b, call.tensor(0));
  const auto [mean, variance] = moments(b, batch);
  const auto invstd = b.rsqrt(b.add(variance, call.number(form.momentum + 1)));
  const auto result = normalized(b, batch, call, batch.channels(b, mean), batch.channels(b, invstd));
  define_running(b, call, form, batch, mean, variance);
  b.define(call.output(0), result);
  b.define(call.output(1), mean);
  b.define(call.output(2), invstd);
}

void infer(Builder& b, const Call& call, const Form& form) {
  const Batch batch(b, call.tensor(0));
  const size_t at = form.running_mean;
  const auto mean = batch.channels(b, call.tensor(at)), variance = b.to(call.tensor(at + 1), batch.dtype);
  const auto invstd = b.rsqrt(b.add(variance, call.number(form.momentum + 1)));
  const auto result = normalized(b, batch, call, mean, batch.channels(b, invstd));
  b.define(call.output(0), result);
  for (size_t i : {1, 2}) {  // there are no batch statistics: empty tensors
    const auto& type = call.output_type(i);
    if (!(type.numel() == ir::Dim(0))) throw NotHandled();
    b.define(call.output(i), b.full(type.sizes, type.dtype, type.device, 0));
  }
  for (size_t i = 3; i < call.output_count(); ++i) b.define(call.output(i), call.tensor(at + i - 3));
}

template <int kRunningMean, int kTraining, int kMomentum>
void batch_norm(Builder& b, const Call& call) {
  const Form form{kRunningMean, kTraining, kMomentum};
  const bool training = form.training >= 0 && call.flag(form.training);
  if (!training && form.running_mean < 0) throw NotHandled();
  (training ? train : infer)(b, call, form);
}

void batch_norm_backward(Builder& b, const Call& call) {
  const Batch batch(b, call.tensor(1));
  const auto grad = b.to(call.tensor(0), batch.dtype);
  const bool training = call.flag(7);
  Value mean, invstd;
  if (training) {
    mean = required(call.optional_tensor(5));
    invstd = required(call.optional_tensor(6));
  } else {
    mean = required(call.optional_tensor(3));
    invstd = b.rsqrt(b.add(b.to(required(call.optional_tensor(4)), batch.dtype), call.number(8)));
  }
  mean = batch.channels(b, mean);
  invstd = batch.channels(b, invstd);
  const auto weight = batch.channels(b, call.optional_tensor(2));
  const auto xhat = b.mul(b.sub(batch.x, mean), invstd);
  if (call.has_output(0)) {
    auto centered = grad;
    if (training) {
      const auto mean_grad = batch.channels(b, b.mean(grad, batch.dims));
      const auto mean_product = batch.channels(b, b.mean(b.mul(grad, xhat), batch.dims));
      centered = b.sub(b.sub(grad, mean_grad), b.mul(xhat, mean_product));
    }
    const auto scale = weight.valid() ? b.mul(invstd, weight) : invstd;
    b.define(call.output(0), b.mul(centered, scale));
  }
  if (call.has_output(1)) b.define(call.output(1), b.sum(b.mul(grad, xhat), batch.dims));
  if (call.has_output(2)) b.define(call.output(2), b.sum(grad, batch.dims));
}

constexpr DecompositionRow kBatchNormRows[] = {
    {"aten.native_batch_norm", batch_norm<3, 5, 6>},
    {"aten._native_batch_norm_legit", batch_norm<3, 5, 6>},
    {"aten._native_batch_norm_legit_functional", batch_norm<3, 5, 6>},
    {"aten._native_batch_norm_legit.no_stats", batch_norm<-1, 3, 4>},
    {"aten._native_batch_norm_legit_no_training", batch_norm<3, -1, 5>},
    {"aten.native_batch_norm_backward", batch_norm_backward},
};

}  // namespace

std::span<const DecompositionRow> batch_norm_decompositions() { return kBatchNormRows; }

}  // namespace antegrad::passes
