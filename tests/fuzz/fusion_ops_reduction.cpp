#include <ATen/ATen.h>

#include <set>

#include "fuzz/fusion_op.h"

namespace antegrad::fuzz {
namespace {

using at::Tensor;
using Ints = std::vector<int64_t>;
using OverDims = Tensor (*)(const Tensor&, at::IntArrayRef dims, bool keepdim);
using OverDim = Tensor (*)(const Tensor&, int64_t dim, bool keepdim);

constexpr bool kJumps = true;

bool has_dims(const Tensor& t) { return t.dim() >= 1; }
bool floats_with_dims(const Tensor& t) { return t.dim() >= 1 && t.is_floating_point(); }

/// ints = {keepdim, dims...}
FusionOp over_dims(const char* name, OverDims function, bool jumps = false) {
  const auto propose = [](FusionScope& scope, FusionStep& step) {
    step.args = {scope.pick(has_dims)};
    if (step.args[0] < 0) return false;
    const auto rank = scope.rank(step.args[0]);
    step.ints = {scope.rng().below(2)};
    const auto always = scope.rng().below(rank);
    for (int64_t d = 0; d < rank; ++d)
      if (d == always || scope.rng().percent(25)) step.ints.push_back(scope.rng().percent(30) ? d - rank : d);
    return true;
  };
  const auto apply = [function](const Tensors& t, const FusionStep& s) {
    return function(t[0], Ints(s.ints.begin() + 1, s.ints.end()), s.ints[0] != 0);
  };
  return {name, propose, apply, jumps};
}

/// ints = {keepdim, dim}
FusionOp over_dim(const char* name, OverDim function, FusionScope::Accept accept = has_dims,
                  bool jumps = false) {
  const auto propose = [accept](FusionScope& scope, FusionStep& step) {
    step.args = {scope.pick(accept)};
    if (step.args[0] < 0) return false;
    step.ints = {scope.rng().below(2), scope.rng().below(scope.rank(step.args[0]))};
    return true;
  };
  const auto apply = [function](const Tensors& t, const FusionStep& s) {
    return function(t[0], s.ints[1], s.ints[0] != 0);
  };
  return {name, propose, apply, jumps};
}

FusionOp over_all(const char* name, Tensor (*function)(const Tensor&), bool jumps = false) {
  const auto propose = [](FusionScope& scope, FusionStep& step) {
    step.args = {scope.pick()};
    return true;
  };
  return {name, propose, [function](const Tensors& t, const FusionStep&) { return function(t[0]); }, jumps};
}

FusionTheme make_reductions() {
  FusionTheme table;
  const auto sum = [](const Tensor& t, at::IntArrayRef d, bool k) { return at::sum(t, d, k); };
  table.insert(table.end(), 4, over_dims("sum", sum));
  const auto mean = [](const Tensor& t, at::IntArrayRef d, bool k) { return at::mean(t, d, k); };
  table.insert(table.end(), 2, over_dims("mean", mean));
  table.push_back(over_dims("amax", at::amax));
  table.push_back(over_dims("amin", at::amin));
  table.push_back(over_dims("logsumexp", at::logsumexp));
  table.push_back(over_dims("var", [](const Tensor& t, at::IntArrayRef d, bool k) {
    return at::var(t, d, /*unbiased=*/false, k);
  }));
  table.push_back(
      over_dims("std", [](const Tensor& t, at::IntArrayRef d, bool k) { return at::std(t, d, true, k); }));
  table.push_back(
      over_dims("norm", [](const Tensor& t, at::IntArrayRef d, bool k) { return at::norm(t, 2, d, k); }));
  table.push_back(over_dims(
      "any", [](const Tensor& t, at::IntArrayRef d, bool k) { return at::any(t, d, k); }, kJumps));
  table.push_back(over_dims(
      "all", [](const Tensor& t, at::IntArrayRef d, bool k) { return at::all(t, d, k); }, kJumps));
  table.push_back(over_dim("prod", [](const Tensor& t, int64_t d, bool k) { return at::prod(t, d, k); }));
  const auto values_of_max = [](const Tensor& t, int64_t d, bool k) { return std::get<0>(at::max(t, d, k)); };
  table.push_back(over_dim("max", values_of_max));
  const auto argmin = [](const Tensor& t, int64_t d, bool k) { return at::argmin(t, d, k); };
  table.push_back(over_dim("argmin", argmin, has_dims, kJumps));
  const auto cumsum = [](const Tensor& t, int64_t d, bool) { return at::cumsum(t, d); };
  table.push_back(over_dim("cumsum", cumsum));
  table.push_back(over_all("sum_all", [](const Tensor& t) { return at::sum(t); }));
  table.push_back(over_all("mean_all", [](const Tensor& t) { return at::mean(t); }));
  table.push_back(over_all("prod_all", [](const Tensor& t) { return at::prod(t); }));
  table.push_back(over_all(
      "any_all", [](const Tensor& t) { return at::any(t); }, kJumps));
  table.push_back(over_all("max_all", [](const Tensor& t) { return at::max(t); }));
  const std::set<std::string> inexact{"mean", "mean_all", "logsumexp", "var", "std", "norm"};
  for (auto& op : table) op.rounds = inexact.contains(op.name);
  return table;
}

/// Adds a vector of the operand's dtype, since eager does not accept mixed dtypes.
int vector_like(FusionScope& scope, int like, int64_t size) {
  return scope.add_input(scope.random_tensor(scope.tensor(like).scalar_type(), {size}));
}

FusionOp layer_norm() {
  const auto propose = [](FusionScope& scope, FusionStep& step) {
    const int x = scope.pick(floats_with_dims);
    if (x < 0) return false;
    const auto size = scope.tensor(x).size(-1);
    step.args = {x};
    if (scope.rng().percent(60)) step.args = {x, vector_like(scope, x, size), vector_like(scope, x, size)};
    return true;
  };
  return {"layer_norm", propose, [](const Tensors& t, const FusionStep&) {
            const bool affine = t.size() > 1;
            return at::layer_norm(t[0], {t[0].size(-1)}, affine ? t[1] : Tensor(), affine ? t[2] : Tensor(),
                                  1e-2);
          }};
}

FusionOp batch_norm() {
  const auto propose = [](FusionScope& scope, FusionStep& step) {
    const int x = scope.pick([](const Tensor& t) { return t.is_floating_point() && t.dim() >= 2; });
    if (x < 0) return false;
    const auto size = scope.tensor(x).size(1);
    step.args = {x, vector_like(scope, x, size), vector_like(scope, x, size)};
    return true;
  };
  return {"batch_norm", propose, [](const Tensors& t, const FusionStep&) {
            return at::batch_norm(t[0], t[1], t[2], {}, {}, /*training=*/true, 0.1, 1e-2, false);
          }};
}

FusionOp group_norm() {
  const auto propose = [](FusionScope& scope, FusionStep& step) {
    const int x = scope.pick([](const Tensor& t) { return t.is_floating_point() && t.dim() >= 3; });
    if (x < 0) return false;
    const auto size = scope.tensor(x).size(1);
    step.args = {x, vector_like(scope, x, size), vector_like(scope, x, size)};
    step.ints = {size % 2 == 0 && size > 0 ? 2 : 1};
    return true;
  };
  return {"group_norm", propose, [](const Tensors& t, const FusionStep& s) {
            // LibTorch's backward kernel for half tensors in channels-last layout writes out of bounds.
            const bool is_half = at::isReducedFloatingType(t[0].scalar_type());
            return at::group_norm(is_half ? t[0].contiguous() : t[0], s.ints[0], t[1], t[2], 1e-2, false);
          }};
}

FusionOp rms_norm() {
  const auto propose = [](FusionScope& scope, FusionStep& step) {
    const int x = scope.pick(floats_with_dims);
    if (x < 0) return false;
    step.args = {x, vector_like(scope, x, scope.tensor(x).size(-1))};
    return true;
  };
  return {"rms_norm", propose, [](const Tensors& t, const FusionStep&) {
            return at::rms_norm(t[0], {t[0].size(-1)}, t[1], 1e-2);
          }};
}

using Loss = Tensor (*)(const Tensor&, const Tensor&, int64_t reduction);
FusionOp loss(const char* name, Loss function) {
  const auto propose = [](FusionScope& scope, FusionStep& step) {
    const int x = scope.pick(floats_with_dims);
    if (x < 0) return false;
    step.args = {x, scope.pick([&](const Tensor& t) {
                   return t.sizes() == scope.tensor(x).sizes() &&
                          t.scalar_type() == scope.tensor(x).scalar_type();
                 })};
    step.ints = {scope.rng().below(3)};
    return true;
  };
  return {name, propose,
          [function](const Tensors& t, const FusionStep& s) { return function(t[0], t[1], s.ints[0]); }};
}

FusionOp cross_entropy() {
  const auto propose = [](FusionScope& scope, FusionStep& step) {
    const int x = scope.pick([](const Tensor& t) {
      return t.is_floating_point() && t.dim() >= 2 && t.dim() <= 4 && t.size(1) > 0;
    });
    if (x < 0) return false;
    auto sizes = scope.tensor(x).sizes().vec();
    const auto classes = sizes[1];
    sizes.erase(sizes.begin() + 1);
    step.args = {x, scope.add_indices(sizes, classes, false)};
    step.ints = {scope.rng().below(3)};
    return true;
  };
  return {"cross_entropy", propose, [](const Tensors& t, const FusionStep& s) {
            return at::cross_entropy_loss(t[0], t[1], {}, s.ints[0]);
          }};
}

FusionTheme make_norms() {
  FusionTheme table;
  const auto softmax = [](const Tensor& t, int64_t d, bool) { return at::softmax(t, d); };
  table.insert(table.end(), 2, over_dim("softmax", softmax, floats_with_dims));
  const auto log_softmax = [](const Tensor& t, int64_t d, bool) { return at::log_softmax(t, d); };
  table.push_back(over_dim("log_softmax", log_softmax, floats_with_dims));
  table.push_back(layer_norm());
  table.push_back(layer_norm());
  table.push_back(batch_norm());
  table.push_back(group_norm());
  table.push_back(rms_norm());
  table.push_back(loss("mse_loss", at::mse_loss));
  table.push_back(loss("l1_loss", at::l1_loss));
  table.push_back(loss("huber_loss", [](const Tensor& a, const Tensor& b, int64_t r) {
    return at::huber_loss(a, b, r, 0.75);
  }));
  table.push_back(loss("bce_with_logits", [](const Tensor& a, const Tensor& b, int64_t r) {
    return at::binary_cross_entropy_with_logits(a, b, {}, {}, r);
  }));
  table.push_back(cross_entropy());
  for (auto& op : table) op.rounds = true;
  return table;
}

}  // namespace

const FusionTheme& fusion_reductions() {
  static const FusionTheme table = make_reductions();
  return table;
}
const FusionTheme& fusion_norms() {
  static const FusionTheme table = make_norms();
  return table;
}

}  // namespace antegrad::fuzz
