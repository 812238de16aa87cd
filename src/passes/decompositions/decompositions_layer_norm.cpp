// Layer and group normalization.
#include "passes/decompositions/decompositions.h"

namespace antegrad::passes {
namespace {

/// The gradient with respect to x, from that with respect to xhat = (x - mean) * rstd.
Value normalized_backward(Builder& b, Value grad, Value xhat, Value rstd, const Dims& dims) {
  const auto mean_grad = b.mean(grad, dims, true);
  const auto mean_product = b.mean(b.mul(grad, xhat), dims, true);
  return b.mul(b.sub(b.sub(grad, mean_grad), b.mul(xhat, mean_product)), rstd);
}

Value affine(Builder& b, Value x, Value weight, Value bias) {
  if (weight.valid()) x = b.mul(x, weight);
  if (bias.valid()) x = b.add(x, bias);
  return x;
}

struct Normalized {
  Value mean, rstd, xhat;
};

Normalized normalize(Builder& b, Value x, const Dims& dims, double eps, bool keepdim) {
  const auto beside_x = [&](Value statistic) { return keepdim ? statistic : b.unsqueeze(statistic, dims); };
  const auto [mean, variance] = moments_of(b, x, dims, keepdim);
  const auto rstd = b.rsqrt(b.add(b.to(variance, b.type(x).dtype), eps));
  return {mean, rstd, b.mul(b.sub(x, beside_x(mean)), beside_x(rstd))};
}

/// The normalized dimensions (inner), which come last, and the others (outer).
struct Axes {
  Dims outer, inner;
};

Axes normalized_axes(Builder& b, Value x, size_t count) {
  if (count == 0 || count > b.rank(x)) throw NotHandled();
  Axes axes;
  for (auto dim : b.all_dims(x))
    (std::cmp_less(dim, b.rank(x) - count) ? axes.outer : axes.inner).push_back(dim);
  return axes;
}

Value optional_to(Builder& b, const Call& call, size_t i, ir::DType dtype) {
  const auto x = call.optional_tensor(i);
  return x.valid() ? b.to(x, dtype) : x;
}

void layer_norm(Builder& b, const Call& call) {
  const auto dtype = wide(call.type(call.tensor(0)).dtype);
  const auto x = b.to(call.tensor(0), dtype);
  const auto [outer, inner] = normalized_axes(b, x, call.dims(1).size());
  const auto moments = normalize(b, x, inner, call.number(4), true);
  const auto result = affine(b, moments.xhat, optional_to(b, call, 2, dtype), optional_to(b, call, 3, dtype));
  b.define(call.output(0), result);
  b.define(call.output(1), moments.mean);
  b.define(call.output(2), moments.rstd);
}

void layer_norm_backward(Builder& b, const Call& call) {
  const auto dtype = wide(call.type(call.tensor(1)).dtype);
  const auto grad = b.to(call.tensor(0), dtype), x = b.to(call.tensor(1), dtype);
  const auto mean = b.to(call.tensor(3), dtype), rstd = b.to(call.tensor(4), dtype);
  const auto weight = optional_to(b, call, 5, dtype);
  const auto [outer, inner] = normalized_axes(b, x, call.dims(2).size());
  const auto xhat = b.mul(b.sub(x, mean), rstd);
  if (call.has_output(0)) {
    const auto grad_xhat = weight.valid() ? b.mul(grad, weight) : grad;
    b.define(call.output(0), normalized_backward(b, grad_xhat, xhat, rstd, inner));
  }
  if (call.has_output(1)) b.define(call.output(1), b.sum(b.mul(grad, xhat), outer));
  if (call.has_output(2)) b.define(call.output(2), b.sum(grad, outer));
}

/// [N, C, …] viewed as [N, groups, C / groups, …]: each group of each sample is normalized.
struct Groups {
  ir::DType dtype;
  ir::Dim count, size;
  Dims inner;

  Groups(Builder& b, const Call& call, Value x, size_t channels_at)
      : dtype(wide(call.type(x).dtype)), count(call.integer(channels_at + 2)) {
    if (b.rank(x) < 2 || count.is(0)) throw NotHandled();
    size = floor_div(call.dim(channels_at), count);
    for (int64_t dim = 2; dim <= static_cast<int64_t>(b.rank(x)); ++dim) inner.push_back(dim);
  }

  Value split(Builder& b, Value x) const { return b.split_dim(x, 1, count, size); }
  /// Broadcasts [N, groups] against a split tensor.
  Value statistic(Builder& b, Value x) const { return b.unsqueeze(b.to(x, dtype), inner); }
  /// Broadcasts [C] against a tensor that is not split.
  Value channels(Builder& b, Value x) const { return x.valid() ? b.along(x, 1, inner.size() + 1) : x; }
};

void group_norm(Builder& b, const Call& call) {
  const Groups groups(b, call, call.tensor(0), 4);
  const auto x = groups.split(b, b.to(call.tensor(0), groups.dtype));
  const auto moments = normalize(b, x, groups.inner, call.number(7), false);
  const auto weight = groups.channels(b, optional_to(b, call, 1, groups.dtype));
  const auto bias = groups.channels(b, optional_to(b, call, 2, groups.dtype));
  const auto result = affine(b, b.merge_dims(moments.xhat, 1), weight, bias);
  b.define(call.output(0), result);
  b.define(call.output(1), moments.mean);
  b.define(call.output(2), moments.rstd);
}

void group_norm_backward(Builder& b, const Call& call) {
  const Groups groups(b, call, call.tensor(1), 6);
  const auto grad = b.to(call.tensor(0), groups.dtype), x = b.to(call.tensor(1), groups.dtype);
  const auto mean = groups.statistic(b, call.tensor(2)), rstd = groups.statistic(b, call.tensor(3));
  const auto weight = groups.channels(b, optional_to(b, call, 4, groups.dtype));
  const auto xhat = b.mul(b.sub(groups.split(b, x), mean), rstd);
  Dims outer = {0};
  for (size_t dim = 2; dim < b.rank(x); ++dim) outer.push_back(static_cast<int64_t>(dim));
  if (call.has_output(0)) {
    const auto grad_xhat = groups.split(b, weight.valid() ? b.mul(grad, weight) : grad);
    const auto result = normalized_backward(b, grad_xhat, xhat, rstd, groups.inner);
    b.define(call.output(0), b.merge_dims(result, 1));
  }
  if (call.has_output(1)) b.define(call.output(1), b.sum(b.mul(grad, b.merge_dims(xhat, 1)), outer));
  if (call.has_output(2)) b.define(call.output(2), b.sum(grad, outer));
}

constexpr DecompositionRow kLayerNormRows[] = {
    {"aten.native_layer_norm", layer_norm},
    {"aten.native_layer_norm_backward", layer_norm_backward},
    {"aten.native_group_norm", group_norm},
    {"aten.native_group_norm_backward", group_norm_backward},
};

}  // namespace

std::span<const DecompositionRow> layer_norm_decompositions() { return kLayerNormRows; }

}  // namespace antegrad::passes
