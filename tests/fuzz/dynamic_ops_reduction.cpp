#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "fuzz/dynamic_op.h"

namespace antegrad::fuzz {
namespace {

using at::Tensor;

/// Decides keepdim: true for half of the values.
bool kept(const Ints& i) { return i[2] % 2 == 0; }

DynamicOp reduction(const char* name, OfOne apply) { return of_one(name, 1, std::move(apply)); }

Tensor attention(const Tensor& x, const Ints& i) {
  auto scores = at::matmul(x, x.transpose(-1, -2)) / std::sqrt(static_cast<double>(x.size(-1)));
  if (i[2] % 2 == 0) {
    const auto n = x.size(-2);
    const auto mask = at::ones({n, n}, x.options().dtype(at::kBool)).triu(1);
    scores = scores.masked_fill(mask, -std::numeric_limits<double>::infinity());
  }
  return at::matmul(at::softmax(scores, -1), x);
}

DynamicOp matmul() {
  const auto propose = [](DynamicScope& scope, DynamicStep& step) {
    const int a = scope.pick(2, 3, false);
    if (a < 0) return false;
    int b = scope.pick([&](int v) {
      if (scope.rank(v) < 2 || scope.rank(v) > 3 || !scope.same(a, -1, v, -2)) return false;
      return scope.rank(a) == 2 || scope.rank(v) == 2 || scope.same(a, 0, v, 0);
    });
    const auto inner = scope.form(a, -1);
    if ((b < 0 || scope.rng().percent(30)) && inner && scope.variables() < 14)
      b = scope.add_input({*inner, {-1, 1, scope.rng().range(1, 6)}});
    if (b < 0) return false;
    step.args = {a, b};
    step.ints = dynamic_ints(scope, step);
    return true;
  };
  return {"matmul", propose, [](const Tensors& t, const Ints& i) {
            if (i[2] % 2 == 0 && t[0].dim() == 3 && t[1].dim() == 3) return at::bmm(t[0], t[1]);
            return at::matmul(t[0], t[1]);
          }};
}

DynamicOp linear() {
  const auto propose = [](DynamicScope& scope, DynamicStep& step) {
    const int x = scope.pick(1, 4, false);
    if (x < 0) return false;
    const auto inner = scope.form(x, -1);
    if (!inner) return false;
    const SizeForm outer{-1, 1, scope.rng().range(1, 8)};
    step.args = {x, scope.add_input({outer, *inner})};
    step.args.push_back(scope.add_input({outer}));
    step.ints = dynamic_ints(scope, step);
    return true;
  };
  return {"linear", propose,
          [](const Tensors& t, const Ints& i) { return at::linear(t[0], t[1], i[2] % 2 ? t[2] : Tensor()); }};
}

/// Takes an input of rank 3 or 4 with a fixed number of channels.
DynamicOp convolution(const char* name, int64_t rank) {
  const auto propose = [rank](DynamicScope& scope, DynamicStep& step) {
    const int x = scope.pick([&](int v) { return scope.rank(v) == rank && scope.fixed(v, 1); });
    if (x < 0) return false;
    std::vector<SizeForm> sizes{{-1, 1, scope.rng().range(1, 4)}, {-1, 1, *scope.fixed(x, 1)}};
    for (int64_t d = 2; d < rank; ++d) sizes.push_back({-1, 1, scope.rng().range(1, 3)});
    const auto outer = sizes[0];
    step.args = {x, scope.add_input(std::move(sizes))};
    step.args.push_back(scope.add_input({outer}));
    step.ints = dynamic_ints(scope, step);
    return true;
  };
  return {name, propose, [rank](const Tensors& t, const Ints& i) {
            const auto bias = i[4] % 2 ? t[2] : Tensor();
            return rank == 3 ? at::conv1d(t[0], t[1], bias, 1 + i[2] % 2, i[3] % 3)
                             : at::conv2d(t[0], t[1], bias, 1 + i[2] % 2, i[3] % 3);
          }};
}

DynamicTheme pools() {
  return {
      of_one("avg_pool1d", 3,
             [](const Tensor& x, const Ints& i) {
               return at::avg_pool1d(x, {2 + i[2] % 2}, {1 + i[3] % 2}, {i[4] % 2}, i[2] % 3 == 0);
             }),
      of_one("avg_pool2d", 4,
             [](const Tensor& x, const Ints& i) {
               return at::avg_pool2d(x, {2, 2}, {2, 1}, {i[3] % 2, 0}, i[2] % 2 == 0, i[4] % 2 == 0);
             }),
      of_one("max_pool1d", 3,
             [](const Tensor& x, const Ints& i) {
               return at::max_pool1d(x, {2 + i[2] % 2}, {1 + i[3] % 2}, {i[4] % 2});
             })
          .with_kinks(),
      of_one("max_pool2d", 4,
             [](const Tensor& x, const Ints& i) {
               return at::max_pool2d(x, {2, 2}, {2, 2}, {i[3] % 2, i[3] % 2});
             })
          .with_kinks(),
      of_one("adaptive_avg_pool1d", 3,
             [](const Tensor& x, const Ints&) { return at::adaptive_avg_pool1d(x, {2}); }),
      of_one("global_pool", 4,
             [](const Tensor& x, const Ints&) {
               return at::adaptive_avg_pool2d(x, {1, 1});
             }),
      of_one("upsample_nearest1d", 3,
             [](const Tensor& x, const Ints&) { return at::upsample_nearest1d(x, {2 * x.size(2)}); }),
      of_one("upsample_nearest2d", 4,
             [](const Tensor& x, const Ints&) {
               return at::upsample_nearest2d(x, {x.size(2) * 2, x.size(3) + 1});
             }),
      of_one("reflection_pad1d", 3,
             [](const Tensor& x, const Ints&) {
               return at::reflection_pad1d(x, {1, 2});
             }),
  };
}

}  // namespace

const DynamicTheme& dynamic_reductions() {
  static const DynamicTheme ops{
      reduction("sum", [](const Tensor& x, const Ints& i) { return x.sum(i[0], kept(i)); }),
      reduction("mean", [](const Tensor& x, const Ints& i) { return x.mean(i[0], kept(i)); }),
      reduction("var", [](const Tensor& x, const Ints& i) { return x.var(i[0], i[3] % 2 == 0, kept(i)); }),
      reduction("var_all", [](const Tensor& x, const Ints&) { return x.var(); }),
      reduction("sum_all", [](const Tensor& x, const Ints&) { return x.sum(); }),
      reduction("mean_all", [](const Tensor& x, const Ints&) { return x.mean(); }),
      reduction("softmax", [](const Tensor& x, const Ints& i) { return at::softmax(x, i[0]); }),
      reduction("log_softmax", [](const Tensor& x, const Ints& i) { return at::log_softmax(x, i[0]); }),
      reduction("logsumexp", [](const Tensor& x, const Ints& i) { return at::logsumexp(x, i[0], kept(i)); }),
      reduction("layer_norm",
                [](const Tensor& x, const Ints&) { return at::layer_norm(x, {x.size(-1)}, {}, {}, 1e-3); }),
      reduction("layer_norm_from",
                [](const Tensor& x, const Ints& i) {
                  return at::layer_norm(x, x.sizes().slice(static_cast<size_t>(i[0])), {}, {}, 1e-2);
                }),
      reduction("cumsum", [](const Tensor& x, const Ints& i) { return x.cumsum(i[0]); }),
      reduction("normalize",
                [](const Tensor& x, const Ints& i) { return x / (x.square().sum(i[0], true) + 1).sqrt(); }),
      reduction("centered", [](const Tensor& x, const Ints& i) { return x - x.mean(i[0], true); }),
      of_one("sum_two", 2,
             [](const Tensor& x, const Ints& i) {
               return x.sum({i[0], (i[0] + 1) % x.dim()}, kept(i));
             }),
      of_one("mean_last_two", 2,
             [](const Tensor& x, const Ints& i) {
               return x.mean({-1, -2}, kept(i));
             }),
      reduction("amax", [](const Tensor& x, const Ints& i) { return x.amax({i[0]}, kept(i)); }).with_kinks(),
      reduction("amin", [](const Tensor& x, const Ints& i) { return x.amin({i[0]}, kept(i)); }).with_kinks(),
      reduction("max_values",
                [](const Tensor& x, const Ints& i) { return std::get<0>(x.max(i[0], kept(i))); })
          .with_kinks(),
      reduction("sort", [](const Tensor& x, const Ints& i) { return std::get<0>(x.sort(i[0])); })
          .with_kinks(),
      reduction("topk",
                [](const Tensor& x, const Ints& i) {
                  return std::get<0>(x.topk(std::min<int64_t>(x.size(i[0]), 3), i[0]));
                })
          .with_kinks(),
      of_one("batch_norm", 2,
             [](const Tensor& x, const Ints&) {
               return at::batch_norm(x, {}, {}, {}, {}, true, 0.1, 1e-2, false);
             }),
      of_one("group_norm", 3, [](const Tensor& x, const Ints&) { return at::group_norm(x, 1); }),
  };
  return ops;
}

const DynamicTheme& dynamic_products() {
  static const DynamicTheme ops = [] {
    DynamicTheme all = pools();
    for (int times = 0; times < 3; ++times) {
      all.push_back(matmul());
      all.push_back(linear());
      all.push_back(convolution("conv1d", 3));
      all.push_back(convolution("conv2d", 4));
      all.push_back(of_one("x@x^T", 2, [](const Tensor& x, const Ints&) {
        return at::matmul(x, x.transpose(-1, -2)) / x.size(-1);
      }));
      all.push_back(of_one("attention", 2, attention));
    }
    return all;
  }();
  return ops;
}

}  // namespace antegrad::fuzz
