#include <ATen/ATen.h>

#include <algorithm>

#include "fuzz/dynamic_op.h"

namespace antegrad::fuzz {
namespace {

using at::Tensor;

at::TensorOptions whole(const Tensor& x) { return x.options().dtype(at::kLong); }

/// Returns `count` indices: 0, 1, …, bound - 1, 0, 1, …
Tensor around(const Tensor& x, int64_t count, int64_t bound) {
  return at::arange(count, whole(x)) % std::max<int64_t>(bound, 1);
}

/// Expands one index per row of dim d to the shape of x.
Tensor spread(const Tensor& index, const Tensor& x, int64_t d) {
  Ints ones(static_cast<size_t>(x.dim()), 1);
  ones[static_cast<size_t>(d)] = -1;
  return index.view(ones).expand_as(x);
}

DynamicOp factory(const char* name, OfOne apply) {
  return of_one(name, 1, std::move(apply)).that_moves().that_counts();
}

/// A factory whose numbers are rounded.
DynamicOp ratio(const char* name, OfOne apply) { return of_one(name, 1, std::move(apply)).that_counts(); }

Tensor shape_with(const Tensor& x, int64_t dim, int64_t size) {
  auto sizes = x.sizes().vec();
  sizes[static_cast<size_t>(dim)] = size;
  return at::zeros(sizes, x.options());
}

Tensor scatter(const Tensor& x, const Ints& i) {
  const auto index = spread(around(x, x.size(i[0]), 3), x, i[0]);
  return at::scatter_add(shape_with(x, i[0], 3), i[0], index, x);
}

Tensor put(const Tensor& x, const Ints& i) {
  const auto index = around(x, x.size(0), i[2] < 3 ? x.size(0) : 2);
  return at::index_put(x, {index}, x.detach() * 0.5, true);
}

DynamicTheme by_arange() {
  return {
      of_one("index_select", 1,
             [](const Tensor& x, const Ints& i) {
               return at::index_select(x, i[0], around(x, x.size(i[1]), x.size(i[0])));
             })
          .that_moves(),
      of_one("index_select(half)", 1,
             [](const Tensor& x, const Ints& i) {
               return at::index_select(x, i[0], at::arange(x.size(i[0]), whole(x)).div(2, "floor"));
             })
          .that_moves(),
      of_one("gather", 1,
             [](const Tensor& x, const Ints& i) {
               return at::gather(x, i[0], spread(around(x, x.size(i[0]), 2 + i[2]), x, i[0]));
             })
          .that_moves(),
      of_one("index", 1,
             [](const Tensor& x, const Ints& i) { return x.index({around(x, x.size(0) + i[2], x.size(0))}); })
          .that_moves(),
      of_one("index_reversed", 1,
             [](const Tensor& x, const Ints&) {
               return x.index({x.size(0) - 1 - at::arange(x.size(0), whole(x))});
             })
          .that_moves(),
      of_one("scatter_add", 1, scatter),
      of_one("index_add", 1,
             [](const Tensor& x, const Ints& i) {
               return at::index_add(shape_with(x, i[0], 2), i[0], around(x, x.size(i[0]), 2), x);
             }),
      of_one("index_put", 1, put),
      of_one("index_put(last)", 1,
             [](const Tensor& x, const Ints&) {
               return at::index_put(x, {at::full({1}, x.size(0) - 1, whole(x))}, x.slice(0, 0, 1) * 2);
             }),
      of_one("masked_fill(tril)", 2,
             [](const Tensor& x, const Ints&) {
               const auto mask = at::ones({x.size(-2), x.size(-1)}, x.options().dtype(at::kBool)).triu(1);
               return x.masked_fill(mask, 0.25);
             })
          .that_moves(),
      of_one("where(arange<n/2)", 1,
             [](const Tensor& x, const Ints& i) {
               const auto n = x.size(i[0]);
               return at::where(spread(at::arange(n, whole(x)) < n / 2, x, i[0]), x, x * 0.5);
             }),
  };
}

/// Looks up rows of a table of fixed size, by an input or by the row numbers of x.
DynamicOp embedding() {
  const auto propose = [](DynamicScope& scope, DynamicStep& step) {
    const int x = scope.pick(1, 4, false);
    if (x < 0) return false;
    const auto rows = scope.form(x, 0);
    if (!rows) return false;
    const int64_t bound = scope.rng().range(2, 6);
    step.args = {x, scope.add_input({{-1, 1, bound}, {-1, 1, scope.rng().range(1, 5)}})};
    step.args.push_back(scope.add_indices({*rows}, bound));
    step.ints = dynamic_ints(scope, step);
    return true;
  };
  return {"embedding", propose, [](const Tensors& t, const Ints& i) {
            const auto index = i[2] < 3 ? t[2] : around(t[0], t[0].size(0), t[1].size(0));
            return at::embedding(t[1], index);
          }};
}

DynamicOp cross_entropy() {
  const auto propose = [](DynamicScope& scope, DynamicStep& step) {
    const int x =
        scope.pick([&](int v) { return scope.rank(v) == 2 && scope.fixed(v, 1) && scope.form(v, 0); });
    if (x < 0) return false;
    step.args = {x, scope.add_indices({*scope.form(x, 0)}, *scope.fixed(x, 1))};
    step.ints = dynamic_ints(scope, step);
    return true;
  };
  return {"cross_entropy", propose,
          [](const Tensors& t, const Ints& i) { return at::cross_entropy_loss(t[0], t[1], {}, i[2] % 3); }};
}

DynamicOp gather_by_input() {
  const auto propose = [](DynamicScope& scope, DynamicStep& step) {
    const int x =
        scope.pick([&](int v) { return scope.rank(v) == 2 && scope.fixed(v, 1) && scope.form(v, 0); });
    if (x < 0) return false;
    step.args = {x, scope.add_indices({*scope.form(x, 0), {-1, 1, 2}}, *scope.fixed(x, 1))};
    step.ints = dynamic_ints(scope, step);
    return true;
  };
  return {"gather_by_input", propose,
          [](const Tensors& t, const Ints&) { return at::gather(t[0], 1, t[1]); }};
}

DynamicTheme writes() {
  return {
      of_one("clone.add_", 0, [](const Tensor& x, const Ints&) { return x.clone().add_(0.5); }),
      of_one("shift_add", 1,
             [](const Tensor& x, const Ints& i) {
               auto y = x.clone();
               y.slice(i[0], 1).add_(x.slice(i[0], 0, x.size(i[0]) - 1));
               return y;
             }),
      of_one("copy_half", 1,
             [](const Tensor& x, const Ints& i) {
               auto y = at::zeros_like(x);
               const auto half = x.size(i[0]) / 2;
               y.narrow(i[0], 0, half).copy_(x.narrow(i[0], x.size(i[0]) - half, half));
               return y;
             }),
      of_one("fill_last", 1,
             [](const Tensor& x, const Ints& i) {
               auto y = x * 1.5;
               y.select(i[0], -1).fill_(x.size(i[0]));
               return y;
             }),
      of_one("index_put_", 1,
             [](const Tensor& x, const Ints& i) {
               auto y = x.sin();
               const auto index = around(x, x.size(0), i[2] + 1);
               return y.index_put_({index}, at::ones({}, x.options()) * 0.5);
             }),
      of_one("columns", 2,
             [](const Tensor& x, const Ints&) {
               auto y = at::empty_like(x, at::MemoryFormat::Contiguous);
               y.select(-1, 0).copy_(x.sum(-1));
               y.slice(-1, 1).copy_(x.slice(-1, 0, x.size(-1) - 1));
               return y;
             }),
      of_one("strided_zero_", 1,
             [](const Tensor& x, const Ints& i) {
               auto y = x.clone();
               y.slice(i[0], 0, std::nullopt, 2).zero_();
               return y;
             }),
  };
}

}  // namespace

const DynamicTheme& dynamic_indexing() {
  static const DynamicTheme ops = [] {
    auto all = by_arange();
    for (int times = 0; times < 3; ++times) {
      all.push_back(embedding());
      all.push_back(cross_entropy());
      all.push_back(gather_by_input());
    }
    return all;
  }();
  return ops;
}

const DynamicTheme& dynamic_factories() {
  static const DynamicTheme ops{
      factory("arange(n)",
              [](const Tensor& x, const Ints& i) { return at::arange(x.size(i[0]), x.options()); }),
      factory("arange(0,n,2)",
              [](const Tensor& x, const Ints& i) { return at::arange(0, x.size(i[0]), 2, x.options()); }),
      ratio("arange(n)/n",
            [](const Tensor& x, const Ints& i) {
              return at::arange(x.size(i[0]), whole(x)).to(x.scalar_type()) / x.size(i[0]);
            }),
      ratio("linspace",
            [](const Tensor& x, const Ints& i) { return at::linspace(0, 1, x.size(i[0]), x.options()); }),
      factory("full(n,n)", [](const Tensor& x,
                              const Ints& i) { return at::full({x.size(i[0])}, x.size(i[1]), x.options()); }),
      factory("ones(n,m)",
              [](const Tensor& x, const Ints& i) {
                return at::ones({x.size(i[0]), x.size(i[1])}, x.options());
              }),
      factory("zeros_like", [](const Tensor& x, const Ints&) { return at::zeros_like(x); }),
      factory("full_like", [](const Tensor& x, const Ints& i) { return at::full_like(x, x.size(i[0])); }),
      factory("eye", [](const Tensor& x, const Ints& i) { return at::eye(x.size(i[0]), x.options()); }),
      factory("eye(n,m)", [](const Tensor& x,
                             const Ints& i) { return at::eye(x.size(i[0]), x.size(i[1]), x.options()); }),
      factory("tril_ones",
              [](const Tensor& x, const Ints& i) {
                return at::ones({x.size(i[0]), x.size(i[0])}, x.options()).tril();
              }),
      factory("distances",
              [](const Tensor& x, const Ints& i) {
                const auto at = at::arange(x.size(i[0]), x.options());
                return (at.unsqueeze(1) - at.unsqueeze(0)).abs();
              }),
      factory("one_hot",
              [](const Tensor& x, const Ints& i) {
                const auto index = around(x, x.size(i[0]), 3).unsqueeze(1);
                return (index == at::arange(3, whole(x))).to(x.scalar_type());
              }),
      factory("scalar_tensor",
              [](const Tensor& x, const Ints& i) { return at::scalar_tensor(x.size(i[0]), x.options()); }),
      of_one("x+arange", 1,
             [](const Tensor& x, const Ints& i) {
               return x * spread(at::arange(x.size(i[0]), x.options()), x, i[0]) / x.size(i[0]);
             }),
  };
  return ops;
}

const DynamicTheme& dynamic_writes() {
  static const DynamicTheme ops = writes();
  return ops;
}

const DynamicTheme& dynamic_outer_writes() {
  static const DynamicTheme ops{
      of_one("add_", 0, [](const Tensor& x, const Ints&) { return Tensor(x).add_(0.5); }).that_writes(),
      of_one("mul_half_", 1,
             [](const Tensor& x, const Ints& i) {
               x.narrow(i[0], 0, x.size(i[0]) / 2).mul_(0.5);
               return x;
             })
          .that_writes(),
      of_one("fill_last_", 1,
             [](const Tensor& x, const Ints& i) {
               x.select(i[0], -1).fill_(0.5);
               return x;
             })
          .that_writes(),
      of_two("add_(y)", [](const Tensor& x, const Tensor& y, const Ints&) { return Tensor(x).add_(y); })
          .that_writes(),
      of_one("div_(n)_", 1, [](const Tensor& x, const Ints& i) { return Tensor(x).div_(x.size(i[0])); })
          .that_writes(),
  };
  return ops;
}

const DynamicOp& dynamic_loss() {
  static const DynamicOp op{"loss", nullptr, [](const Tensors& t, const Ints&) {
                              auto sum = t[0].mean();
                              for (size_t k = 1; k < t.size(); ++k) sum = sum + t[k].sin().mean();
                              return sum;
                            }};
  return op;
}

}  // namespace antegrad::fuzz
