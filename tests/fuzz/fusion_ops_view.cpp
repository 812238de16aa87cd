#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

#include "fuzz/fusion_op.h"

namespace antegrad::fuzz {
namespace {

using at::Tensor;
using Ints = std::vector<int64_t>;
/// Fills the ints of a step on a tensor of at least one dim; returns false if nothing fits.
using Choose = std::function<bool(FusionScope&, const Tensor&, Ints&)>;
using View = std::function<Tensor(const Tensor&, const Ints&)>;

FusionOp view(const char* name, int64_t least_rank, Choose choose, View apply) {
  const auto propose = [least_rank, choose](FusionScope& scope, FusionStep& step) {
    step.args = {scope.pick([&](const Tensor& t) { return t.dim() >= least_rank; })};
    return step.args[0] >= 0 && choose(scope, scope.tensor(step.args[0]), step.ints);
  };
  return {name, propose, [apply](const Tensors& t, const FusionStep& s) { return apply(t[0], s.ints); }};
}

bool choose_order(FusionScope& scope, const Tensor& t, Ints& ints) {
  ints.resize(static_cast<size_t>(t.dim()));
  std::iota(ints.begin(), ints.end(), 0);
  for (size_t i = ints.size(); i > 1; --i)
    std::swap(ints[i - 1], ints[static_cast<size_t>(scope.rng().below(static_cast<int64_t>(i)))]);
  return true;
}

bool choose_slice(FusionScope& scope, const Tensor& t, Ints& ints) {
  const auto dim = scope.rng().below(t.dim());
  const auto begin = scope.rng().range(0, t.size(dim) / 2);
  ints = {dim, begin, scope.rng().range(std::min(begin + 1, t.size(dim)), t.size(dim)),
          scope.rng().range(1, 3)};
  return true;
}

bool choose_element(FusionScope& scope, const Tensor& t, Ints& ints) {
  const auto dim = scope.rng().below(t.dim());
  if (t.size(dim) == 0) return false;
  ints = {dim, scope.rng().below(t.size(dim))};
  return true;
}

bool choose_dim(FusionScope& scope, const Tensor& t, Ints& ints) {
  ints = {scope.rng().below(t.dim())};
  return true;
}

bool choose_new_dim(FusionScope& scope, const Tensor& t, Ints& ints) {
  ints = {scope.rng().range(0, t.dim()), scope.extent()};
  return t.dim() < 5;
}

bool choose_factors(FusionScope& scope, const Tensor& t, Ints& ints) {
  const auto dim = scope.rng().below(t.dim());
  Ints factors;
  for (int64_t f = 1; f <= t.size(dim); ++f)
    if (t.size(dim) % f == 0) factors.push_back(f);
  if (factors.empty() || t.dim() >= 5) return false;
  const auto factor = scope.rng().pick(factors);
  ints = {dim, factor, t.size(dim) / factor};
  return true;
}

bool choose_two_dims(FusionScope& scope, const Tensor& t, Ints& ints) {
  const auto first = scope.rng().below(t.dim());
  ints = {first, scope.rng().range(first, t.dim() - 1)};
  return true;
}

/// Chooses sizes for the same elements: merges dims in pairs, from the left, where possible.
bool choose_sizes(FusionScope& scope, const Tensor& t, Ints& ints) {
  Ints factors;
  for (int64_t d = 0; d < t.dim(); ++d)
    if (t.size(d) % 2 == 0 && t.size(d) > 0) {
      factors.push_back(2);
      factors.push_back(t.size(d) / 2);
    } else {
      factors.push_back(t.size(d));
    }
  for (size_t i = 0; i < factors.size(); ++i)
    if (i == 0 || scope.rng().percent(40))
      ints.push_back(factors[i]);
    else
      ints.back() *= factors[i];
  return ints.size() <= 5;
}

bool choose_padding(FusionScope& scope, const Tensor& t, Ints& ints) {
  for (int64_t d = 0; d < std::min<int64_t>(t.dim(), 2); ++d) {
    ints.push_back(scope.rng().range(-1, 3));
    ints.push_back(scope.rng().range(0, 2));
    if (t.size(-1 - d) + ints[ints.size() - 2] < 0) return false;
  }
  return true;
}

/// Concatenates tensors that agree in all dims but one.
FusionOp cat() {
  const auto propose = [](FusionScope& scope, FusionStep& step) {
    const int first = scope.pick([](const Tensor& t) { return t.dim() >= 1; });
    if (first < 0) return false;
    const Tensor& x = scope.tensor(first);
    const auto dim = scope.rng().below(x.dim());
    step.args = {first};
    step.ints = {dim};
    const auto fits = [&](const Tensor& t) {
      if (t.dim() != x.dim()) return false;
      for (int64_t d = 0; d < t.dim(); ++d)
        if (d != dim && t.size(d) != x.size(d)) return false;
      return true;
    };
    for (auto more = scope.rng().range(1, 3); more > 0; --more) step.args.push_back(scope.pick(fits));
    return true;
  };
  return {"cat", propose, [](const Tensors& t, const FusionStep& s) { return at::cat(t, s.ints[0]); }};
}

FusionOp stack() {
  const auto propose = [](FusionScope& scope, FusionStep& step) {
    const int first = scope.pick([](const Tensor& t) { return t.dim() < 5; });
    if (first < 0) return false;
    const Tensor& x = scope.tensor(first);
    step.args = {first, scope.pick([&](const Tensor& t) { return t.sizes() == x.sizes(); })};
    step.ints = {scope.rng().range(0, x.dim())};
    return true;
  };
  return {"stack", propose, [](const Tensors& t, const FusionStep& s) { return at::stack(t, s.ints[0]); }};
}

FusionTheme make_views() {
  FusionTheme table;
  table.push_back(
      view("permute", 2, choose_order, [](const Tensor& t, const Ints& i) { return t.permute(i); }));
  table.push_back(view("slice", 1, choose_slice,
                       [](const Tensor& t, const Ints& i) { return t.slice(i[0], i[1], i[2], i[3]); }));
  table.push_back(
      view("select", 1, choose_element, [](const Tensor& t, const Ints& i) { return t.select(i[0], i[1]); }));
  table.push_back(view("expand", 0, choose_new_dim, [](const Tensor& t, const Ints& i) {
    auto sizes = t.sizes().vec();
    sizes.insert(sizes.begin() + i[0], i[1]);
    return t.unsqueeze(i[0]).expand(sizes);
  }));
  table.push_back(
      view("unsqueeze", 0, choose_new_dim, [](const Tensor& t, const Ints& i) { return t.unsqueeze(i[0]); }));
  table.push_back(
      view("squeeze", 1, choose_dim, [](const Tensor& t, const Ints& i) { return t.squeeze(i[0]); }));
  table.push_back(view("unflatten", 1, choose_factors, [](const Tensor& t, const Ints& i) {
    return t.unflatten(i[0], {i[1], i[2]});
  }));
  table.push_back(view("flatten", 1, choose_two_dims,
                       [](const Tensor& t, const Ints& i) { return t.flatten(i[0], i[1]); }));
  table.push_back(
      view("reshape", 1, choose_sizes, [](const Tensor& t, const Ints& i) { return t.reshape(i); }));
  table.push_back(view("diagonal", 2, choose_dim, [](const Tensor& t, const Ints& i) {
    return t.diagonal(0, i[0], i[0] == 0 ? 1 : 0);
  }));
  table.push_back(
      view("contiguous", 2, choose_dim, [](const Tensor& t, const Ints&) { return t.contiguous(); }));
  table.push_back(view("clone", 1, choose_dim, [](const Tensor& t, const Ints&) { return t.clone(); }));
  table.push_back(view("flip", 1, choose_dim, [](const Tensor& t, const Ints& i) { return t.flip({i[0]}); }));
  table.push_back(view("pad", 1, choose_padding, [](const Tensor& t, const Ints& i) {
    return at::constant_pad_nd(t, i, t.scalar_type() == at::kBool ? 1 : 3);
  }));
  table.push_back(cat());
  table.push_back(cat());
  table.push_back(stack());
  return table;
}

}  // namespace

const FusionTheme& fusion_views() {
  static const FusionTheme table = make_views();
  return table;
}

}  // namespace antegrad::fuzz
