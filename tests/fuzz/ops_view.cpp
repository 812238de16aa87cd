#include <numeric>

#include "fuzz/op.h"

namespace antegrad::fuzz {
namespace {

using at::Tensor;
using Choose = std::function<Sizes(Rng&, const Tensor&)>;
using View = std::function<Tensor(const Tensor&, const Sizes&)>;

Op view(const char* name, int64_t min_dim, Choose choose, View function, Scope::Accept accept = {}) {
  Op op{name, OpGroup::View};
  op.propose = [=](Rng& rng, const Scope& scope, Statement& s) {
    const Var* x = scope.pick(rng, has_dim(min_dim, accept));
    if (!x) return false;
    s.args = {x->id};
    s.ints = choose(rng, x->tensor);
    return true;
  };
  op.apply = [function](const Tensors& t, const Statement& s) { return Tensors{function(t[0], s.ints)}; };
  return op;
}

Sizes nothing(Rng&, const Tensor&) { return {}; }
Sizes one_dim(Rng& rng, const Tensor& t) { return {rng.below(t.dim())}; }
Sizes new_dim(Rng& rng, const Tensor& t) { return {rng.below(t.dim() + 1)}; }
Sizes two_dims(Rng& rng, const Tensor& t) { return {rng.below(t.dim()), rng.below(t.dim())}; }

/// Returns another shape with as many elements.
Sizes reshaped(Rng& rng, const Tensor& t) {
  if (rng.percent(40)) return {t.numel()};
  Sizes sizes = t.sizes().vec();
  if (sizes.size() >= 2 && rng.percent(50)) {
    const auto d = static_cast<size_t>(rng.below(t.dim() - 1));
    sizes[d] *= sizes[d + 1];
    sizes.erase(sizes.begin() + static_cast<int64_t>(d) + 1);
  } else {
    std::reverse(sizes.begin(), sizes.end());
  }
  return sizes;
}

Sizes permutation(Rng& rng, const Tensor& t) {
  Sizes dims(static_cast<size_t>(t.dim()));
  std::iota(dims.begin(), dims.end(), 0);
  for (size_t i = dims.size(); i > 1; --i)
    std::swap(dims[i - 1], dims[static_cast<size_t>(rng.below(static_cast<int64_t>(i)))]);
  return dims;
}

/// {dim, start, end, step}
Sizes slice_bounds(Rng& rng, const Tensor& t) {
  const int64_t dim = rng.below(t.dim());
  const int64_t start = rng.range(0, t.size(dim));
  return {dim, start, rng.range(start, t.size(dim)), rng.range(1, 2)};
}

/// {offset, sizes..., strides...} within the storage
Sizes strided_geometry(Rng& rng, const Tensor& t) {
  const auto room = static_cast<int64_t>(t.storage().nbytes() / t.itemsize());
  Sizes sizes, strides;
  int64_t reach = 0;
  for (int64_t d = rng.range(1, 2); d > 0; --d) {
    sizes.push_back(rng.range(1, 3));
    strides.push_back(rng.range(1, 3));
    reach += (sizes.back() - 1) * strides.back();
  }
  Sizes ints = {reach < room ? rng.below(room - reach)
                             : 0};  // exceeding the storage throws, and the statement is dropped
  ints.insert(ints.end(), sizes.begin(), sizes.end());
  ints.insert(ints.end(), strides.begin(), strides.end());
  return ints;
}

Tensor as_strided(const Tensor& t, const Sizes& ints) {
  const auto dims = static_cast<int64_t>(ints.size() / 2);
  const auto begin = ints.begin() + 1;
  return at::as_strided(t, Sizes(begin, begin + dims), Sizes(begin + dims, ints.end()), ints[0]);
}

void add_shape_views(std::vector<Op>& table) {
  table.push_back(view("view", 0, reshaped, [](const Tensor& t, const Sizes& i) { return t.view(i); }));
  table.push_back(
      view("reshape", 0, reshaped, [](const Tensor& t, const Sizes& i) { return at::reshape(t, i); }));
  table.push_back(view("flatten", 0, nothing, [](const Tensor& t, const Sizes&) { return at::flatten(t); }));
  table.push_back(view("squeeze", 0, nothing, [](const Tensor& t, const Sizes&) { return at::squeeze(t); }));
  table.push_back(
      view("squeeze", 1, one_dim, [](const Tensor& t, const Sizes& i) { return at::squeeze(t, i[0]); }));
  table.push_back(
      view("unsqueeze", 0, new_dim, [](const Tensor& t, const Sizes& i) { return at::unsqueeze(t, i[0]); }));
  table.push_back(view(
      "expand", 0,
      [](Rng& rng, const Tensor& t) {
        Sizes sizes = t.sizes().vec();
        for (int64_t& size : sizes)
          if (size == 1) size = rng.range(1, 3);
        if (rng.percent(50)) sizes.insert(sizes.begin(), rng.range(1, 3));
        return sizes;
      },
      [](const Tensor& t, const Sizes& i) { return t.expand(i); }));
}

void add_order_views(std::vector<Op>& table) {
  table.push_back(view("t", 0, nothing, [](const Tensor& t, const Sizes&) { return at::t(t); }));
  table.push_back(view("transpose", 2, two_dims,
                       [](const Tensor& t, const Sizes& i) { return at::transpose(t, i[0], i[1]); }));
  table.push_back(
      view("permute", 1, permutation, [](const Tensor& t, const Sizes& i) { return at::permute(t, i); }));
  table.push_back(
      view("diagonal", 2, nothing, [](const Tensor& t, const Sizes&) { return at::diagonal(t, 0, 0, 1); }));
}

void add_part_views(std::vector<Op>& table) {
  for (int twice = 0; twice < 2; ++twice) {
    table.push_back(view("slice", 1, slice_bounds, [](const Tensor& t, const Sizes& i) {
      return at::slice(t, i[0], i[1], i[2], i[3]);
    }));
    table.push_back(view(
        "select", 1,
        [](Rng& rng, const Tensor& t) {
          const int64_t dim = rng.below(t.dim());
          return Sizes{dim, rng.below(std::max<int64_t>(1, t.size(dim)))};
        },
        [](const Tensor& t, const Sizes& i) { return at::select(t, i[0], i[1]); }));
  }
  table.push_back(view("narrow", 1, slice_bounds, [](const Tensor& t, const Sizes& i) {
    return at::narrow(t, i[0], i[1], i[2] - i[1]);
  }));
  // as_strided of a view can reach memory outside the view, whose gradient depends on how it is requested.
  auto no_view_with_grad = [](const Tensor& t) { return !t.is_view() || !t.requires_grad(); };
  table.push_back(view("as_strided", 0, strided_geometry, as_strided, no_view_with_grad));
  table.push_back(view(
      "unfold", 1,
      [](Rng& rng, const Tensor& t) {
        const int64_t dim = rng.below(t.dim());
        return Sizes{dim, rng.range(1, std::max<int64_t>(1, t.size(dim))), rng.range(1, 2)};
      },
      [](const Tensor& t, const Sizes& i) { return t.unfold(i[0], i[1], i[2]); }));
}

/// Adds ops whose results are all views of one tensor; at most three of them become variables.
void add_pieces(std::vector<Op>& table) {
  using Split = std::function<Tensors(const Tensor&, int64_t)>;
  auto pieces = [&](const char* name, Split split) {
    Op op = view(name, 1, one_dim, {});
    op.apply = [split](const Tensors& t, const Statement& s) {
      Tensors parts = split(t[0], s.ints[0]);
      if (parts.size() > 3) parts.resize(3);
      return parts;
    };
    table.push_back(op);
  };
  pieces("split", [](const Tensor& t, int64_t d) { return at::split(t, 2, d); });
  pieces("chunk", [](const Tensor& t, int64_t d) { return at::chunk(t, 2, d); });
  pieces("unbind", [](const Tensor& t, int64_t d) { return at::unbind(t, d); });
}

/// Adds aliases, and ops that return their argument itself when there is nothing to do.
void add_aliases(std::vector<Op>& table) {
  table.push_back(view("detach", 0, nothing, [](const Tensor& t, const Sizes&) { return at::detach(t); }));
  table.push_back(view("alias", 0, nothing, [](const Tensor& t, const Sizes&) { return at::alias(t); }));
  table.push_back(
      view("contiguous", 0, nothing, [](const Tensor& t, const Sizes&) { return t.contiguous(); }));
  table.push_back(view("view_as", 0, nothing, [](const Tensor& t, const Sizes&) { return t.view_as(t); }));
}

/// Views integers only: the bits of a float would show the sign of a zero and the payload of a NaN.
void add_dtype_views(std::vector<Op>& table) {
  Op bits = view(
      "view_dtype", 1,
      [](Rng& rng, const Tensor& t) {
        const auto smaller = t.scalar_type() == at::kLong ? at::kInt : at::kByte;
        const auto larger = t.scalar_type() == at::kInt ? at::kLong : at::kInt;
        return Sizes{static_cast<int64_t>(rng.percent(60) ? smaller : larger)};
      },
      [](const Tensor& t, const Sizes& i) { return t.view(static_cast<at::ScalarType>(i[0])); },
      [](const Tensor& t) { return t.scalar_type() == at::kLong || t.scalar_type() == at::kInt; });
  bits.enabled = &GeneratorConfig::view_dtype;
  table.push_back(bits);
  Op parts = view(
      "view_as_real", 0, nothing, [](const Tensor& t, const Sizes&) { return at::view_as_real(t); },
      [](const Tensor& t) { return t.is_complex(); });
  parts.enabled = &GeneratorConfig::view_dtype;
  table.push_back(parts);
}

}  // namespace

void add_view_ops(std::vector<Op>& table) {
  add_shape_views(table);
  add_order_views(table);
  add_part_views(table);
  add_pieces(table);
  add_aliases(table);
  add_dtype_views(table);
}

}  // namespace antegrad::fuzz
