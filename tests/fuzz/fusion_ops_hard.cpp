#include <ATen/ATen.h>

#include "fuzz/fusion_op.h"

namespace antegrad::fuzz {
namespace {

using at::Tensor;

bool long_floats(const Tensor& t) {
  return t.dim() >= 1 && (t.scalar_type() == at::kFloat || t.scalar_type() == at::kDouble) && t.size(-1) > 1;
}

/// numbers = {scale, mean}. Gives a norm input with hardly any spread, or with a very small or large one.
FusionOp of_shifted(const char* name, Tensor (*function)(const Tensor&)) {
  const auto propose = [](FusionScope& scope, FusionStep& step) {
    step.args = {scope.pick(long_floats)};
    static const std::vector<double> scales{1e-3, 1e-2, 0.1, 1, 100}, means{10, 100, 1000, 5000, -3000};
    step.numbers = {scope.rng().pick(scales), scope.rng().pick(means)};
    return step.args[0] >= 0;
  };
  const auto apply = [function](const Tensors& t, const FusionStep& s) {
    return function(at::add(at::mul(t[0], s.numbers[0]), s.numbers[1]));
  };
  FusionOp op{name, propose, apply};
  op.rounds = true;
  return op;
}

/// numbers = {a number that short floating-point types cannot represent}
FusionOp against(const char* name, Tensor (*function)(const Tensor&, const at::Scalar&)) {
  const auto propose = [](FusionScope& scope, FusionStep& step) {
    step.args = {scope.pick(is_floating)};
    static const std::vector<double> numbers{0.1, -0.1, 0.3, 1e-8, 1.00390625, 257, 65520, 0.7, -0.0};
    step.numbers = {scope.rng().pick(numbers)};
    return step.args[0] >= 0;
  };
  const auto apply = [function](const Tensors& t, const FusionStep& s) {
    return function(t[0], s.numbers[0]);
  };
  return {name, propose, apply, /*jumps=*/true};
}

}  // namespace

const FusionTheme& fusion_hard_ops() {
  static const FusionTheme table{
      of_shifted("var_shifted", [](const Tensor& t) { return at::var(t, {-1}, false, false); }),
      of_shifted("std_shifted", [](const Tensor& t) { return at::std(t, {-1}, true, true); }),
      of_shifted("var_all_shifted", [](const Tensor& t) { return at::var(t); }),
      of_shifted("layer_norm_shifted",
                 [](const Tensor& t) { return at::layer_norm(t, {t.size(-1)}, {}, {}, 1e-5); }),
      of_shifted("batch_norm_shifted",
                 [](const Tensor& t) {
                   const auto x = t.reshape({t.numel() / t.size(-1), t.size(-1)});
                   return at::batch_norm(x, {}, {}, {}, {}, true, 0.1, 1e-5, false);
                 }),
      of_shifted("group_norm_shifted",
                 [](const Tensor& t) {
                   return at::group_norm(t.reshape({1, 1, -1}), 1, {}, {}, 1e-5, false);
                 }),
      of_shifted("softmax_shifted", [](const Tensor& t) { return at::softmax(t, -1); }),
      of_shifted("logsumexp_shifted", [](const Tensor& t) { return at::logsumexp(t, -1); }),
      against("eq", [](const Tensor& t, const at::Scalar& n) { return at::eq(t, n); }),
      against("gt", [](const Tensor& t, const at::Scalar& n) { return at::gt(t, n); }),
      against("le", [](const Tensor& t, const at::Scalar& n) { return at::le(t, n); }),
      against("hardshrink", [](const Tensor& t, const at::Scalar& n) { return at::hardshrink(t, n); }),
      against("masked_fill",
              [](const Tensor& t, const at::Scalar& n) { return at::masked_fill(t, at::gt(t, 0), n); }),
      against("mul", [](const Tensor& t, const at::Scalar& n) { return at::mul(t, n); }),
      against("add", [](const Tensor& t, const at::Scalar& n) { return at::add(t, n); }),
      against("clamp_max", [](const Tensor& t, const at::Scalar& n) { return at::clamp_max(t, n); }),
  };
  return table;
}

}  // namespace antegrad::fuzz
