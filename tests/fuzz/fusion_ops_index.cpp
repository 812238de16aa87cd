#include <ATen/ATen.h>

#include "fuzz/fusion_op.h"

namespace antegrad::fuzz {
namespace {

using at::Tensor;
using Ints = std::vector<int64_t>;

bool has_elements(const Tensor& t) { return t.dim() >= 1 && t.numel() > 0; }

/// ints = {dim}; args = {x, indices}
FusionOp gather() {
  const auto propose = [](FusionScope& scope, FusionStep& step) {
    const int x = scope.pick(has_elements);
    if (x < 0) return false;
    const auto dim = scope.rng().below(scope.rank(x));
    auto sizes = scope.tensor(x).sizes().vec();
    sizes[static_cast<size_t>(dim)] = scope.extent();
    step.args = {x, scope.add_indices(sizes, scope.tensor(x).size(dim), false)};
    step.ints = {dim};
    return true;
  };
  return {"gather", propose,
          [](const Tensors& t, const FusionStep& s) { return at::gather(t[0], s.ints[0], t[1]); }};
}

FusionOp index_select() {
  const auto propose = [](FusionScope& scope, FusionStep& step) {
    const int x = scope.pick(has_elements);
    if (x < 0) return false;
    const auto dim = scope.rng().below(scope.rank(x));
    step.args = {x, scope.add_indices({scope.extent()}, scope.tensor(x).size(dim), false)};
    step.ints = {dim};
    return true;
  };
  return {"index_select", propose,
          [](const Tensors& t, const FusionStep& s) { return at::index_select(t[0], s.ints[0], t[1]); }};
}

FusionOp embedding() {
  const auto propose = [](FusionScope& scope, FusionStep& step) {
    const int x = scope.pick([](const Tensor& t) { return t.dim() == 2 && t.numel() > 0; });
    if (x < 0) return false;
    Ints sizes{scope.extent()};
    if (scope.rng().percent(50)) sizes.push_back(scope.extent());
    step.args = {x, scope.add_indices(sizes, scope.tensor(x).size(0), false)};
    return true;
  };
  return {"embedding", propose,
          [](const Tensors& t, const FusionStep&) { return at::embedding(t[0], t[1]); }};
}

/// Indexes with one or two tensors, at dims that need not be adjacent. ints = {rank, first dim, second dim or
/// -1}
bool choose_indices(FusionScope& scope, int x, FusionStep& step) {
  const auto rank = scope.rank(x);
  const auto first = scope.rng().below(rank);
  auto second = scope.rng().percent(40) ? scope.rng().below(rank) : -1;
  if (second == first) second = -1;
  const Ints sizes = scope.rng().percent(60) ? Ints{scope.extent()} : Ints{scope.extent(), scope.extent()};
  step.args.push_back(scope.add_indices(sizes, scope.tensor(x).size(first), true));
  if (second >= 0) {
    const Ints tail = scope.rng().percent(30) ? Ints{1} : Ints{sizes.back()};
    step.args.push_back(scope.add_indices(tail, scope.tensor(x).size(second), true));
  }
  step.ints = {rank, first, second};
  return true;
}

c10::List<std::optional<Tensor>> indices_of(const Tensors& t, const FusionStep& s) {
  std::vector<std::optional<Tensor>> all(static_cast<size_t>(s.ints[0]));
  all[static_cast<size_t>(s.ints[1])] = t[1];
  if (s.ints[2] >= 0) all[static_cast<size_t>(s.ints[2])] = t[2];
  return c10::List<std::optional<Tensor>>(all);
}

FusionOp index() {
  const auto propose = [](FusionScope& scope, FusionStep& step) {
    const int x = scope.pick(has_elements);
    step.args = {x};
    return x >= 0 && choose_indices(scope, x, step);
  };
  return {"index", propose,
          [](const Tensors& t, const FusionStep& s) { return at::index(t[0], indices_of(t, s)); }};
}

/// The last operand holds the updates.
FusionOp index_put() {
  const auto propose = [](FusionScope& scope, FusionStep& step) {
    const int x = scope.pick(has_elements);
    step.args = {x};
    if (x < 0 || !choose_indices(scope, x, step)) return false;
    Tensors operands;
    for (const int arg : step.args) operands.push_back(scope.tensor(arg));
    const auto sizes = at::index(operands[0], indices_of(operands, step)).sizes().vec();
    step.args.push_back(scope.add_input(scope.random_tensor(operands[0].scalar_type(), sizes)));
    return true;
  };
  return {"index_put", propose, [](const Tensors& t, const FusionStep& s) {
            return at::index_put(t[0], indices_of(t, s), t.back(), /*accumulate=*/true);
          }};
}

FusionOp scatter_add() {
  const auto propose = [](FusionScope& scope, FusionStep& step) {
    const int x = scope.pick(has_elements);
    const int updates = scope.pick([&](const Tensor& t) {
      return x >= 0 && t.scalar_type() == scope.tensor(x).scalar_type() && t.dim() == scope.rank(x);
    });
    if (x < 0 || updates < 0) return false;
    const auto dim = scope.rng().below(scope.rank(x));
    auto sizes = scope.tensor(updates).sizes().vec();
    for (int64_t d = 0; d < scope.rank(x); ++d)
      if (d != dim)
        sizes[static_cast<size_t>(d)] = std::min(sizes[static_cast<size_t>(d)], scope.tensor(x).size(d));
    step.args = {x, scope.add_indices(sizes, scope.tensor(x).size(dim), false), updates};
    step.ints = {dim};
    return true;
  };
  return {"scatter_add", propose,
          [](const Tensors& t, const FusionStep& s) { return at::scatter_add(t[0], s.ints[0], t[1], t[2]); }};
}

FusionOp index_add() {
  const auto propose = [](FusionScope& scope, FusionStep& step) {
    const int x = scope.pick(has_elements);
    if (x < 0) return false;
    const auto dim = scope.rng().below(scope.rank(x));
    auto sizes = scope.tensor(x).sizes().vec();
    sizes[static_cast<size_t>(dim)] = scope.extent();
    const int updates = scope.add_input(scope.random_tensor(scope.tensor(x).scalar_type(), sizes));
    step.args = {x, scope.add_indices({sizes[static_cast<size_t>(dim)]}, scope.tensor(x).size(dim), false),
                 updates};
    step.ints = {dim};
    return true;
  };
  return {"index_add", propose,
          [](const Tensors& t, const FusionStep& s) { return at::index_add(t[0], s.ints[0], t[1], t[2]); }};
}

FusionOp upsample() {
  const auto propose = [](FusionScope& scope, FusionStep& step) {
    step.args = {
        scope.pick([](const Tensor& t) { return t.is_floating_point() && t.dim() == 4 && t.numel() > 0; })};
    step.ints = {scope.rng().range(1, 9), scope.rng().range(1, 9)};
    return step.args[0] >= 0;
  };
  return {"upsample_nearest2d", propose,
          [](const Tensors& t, const FusionStep& s) { return at::upsample_nearest2d(t[0], s.ints); }};
}

/// LibTorch computes it, between kernels before and after.
FusionOp matmul() {
  const auto propose = [](FusionScope& scope, FusionStep& step) {
    const int x = scope.pick([](const Tensor& t) { return t.is_floating_point() && t.dim() == 2; });
    if (x < 0) return false;
    const Ints sizes{scope.tensor(x).size(1), scope.extent()};
    step.args = {x, scope.add_input(scope.random_tensor(scope.tensor(x).scalar_type(), sizes))};
    return true;
  };
  return {"mm", propose, [](const Tensors& t, const FusionStep&) { return at::mm(t[0], t[1]); }};
}

}  // namespace

const FusionTheme& fusion_indexing() {
  static const FusionTheme table{gather(),      index_select(), embedding(), index(), index_put(),
                                 scatter_add(), index_add(),    upsample(),  matmul()};
  return table;
}

}  // namespace antegrad::fuzz
