#include <ATen/ExpandUtils.h>

#include "fuzz/op.h"

namespace antegrad::fuzz {
namespace {

using at::Tensor;

Op inplace(const char* name, std::function<void(const Tensor&, const at::Scalar&)> function,
           Scope::Accept accept = is_real) {
  Op op{name, OpGroup::InPlace};
  op.writes = 1;
  op.elementwise = true;
  op.propose = [accept](Rng& rng, const Scope& scope, Statement& s) {
    const Var* x = scope.pick(rng, accept);
    if (!x) return false;
    s.args = {x->id};
    s.numbers = {small_number(rng)};
    return true;
  };
  op.apply = [function](const Tensors& t, const Statement& s) {
    function(t[0], scalar(s.numbers[0]));
    return Tensors{};
  };
  return op;
}

Op inplace_unary(const char* name, std::function<void(const Tensor&)> function,
                 Scope::Accept accept = is_real) {
  Op op = inplace(name, {});
  op.propose = [accept](Rng& rng, const Scope& scope, Statement& s) {
    const Var* x = scope.pick(rng, accept);
    if (x) s.args = {x->id};
    return x != nullptr;
  };
  op.apply = [function](const Tensors& t, const Statement&) {
    function(t[0]);
    return Tensors{};
  };
  return op;
}

Op inplace_binary(const char* name, std::function<void(const Tensor&, const Tensor&)> function,
                  Scope::Accept accept = is_real) {
  Op op = inplace(name, {});
  op.propose = [accept](Rng& rng, const Scope& scope, Statement& s) {
    const Var* x = scope.pick(rng, accept);
    if (!x) return false;
    const Var* y = scope.pick(rng, [&](const Tensor& t) { return accept(t) && broadcasts_to(t, x->tensor); });
    s.args = {x->id, y->id};
    return true;
  };
  op.apply = [function](const Tensors& t, const Statement&) {
    function(t[0], t[1]);
    return Tensors{};
  };
  return op;
}

void add_elementwise(std::vector<Op>& table) {
  auto any = [](const Tensor&) { return true; };
  table.push_back(inplace("add_", [](const Tensor& t, const at::Scalar& n) { t.add_(n); }));
  table.push_back(inplace("mul_", [](const Tensor& t, const at::Scalar& n) { t.mul_(n); }));
  table.push_back(inplace(
      "fill_", [](const Tensor& t, const at::Scalar& n) { t.fill_(n); }, any));
  table.push_back(inplace(
      "zero_", [](const Tensor& t, const at::Scalar&) { t.zero_(); }, any));
  table.push_back(inplace_unary("relu_", [](const Tensor& t) { t.relu_(); }));
  table.push_back(inplace_unary("neg_", [](const Tensor& t) { t.neg_(); }));
  table.push_back(inplace("clamp_", [](const Tensor& t, const at::Scalar& n) { t.clamp_(n, scalar(5)); }));
  for (int twice = 0; twice < 2; ++twice) {
    table.push_back(inplace_binary(
        "add_", [](const Tensor& x, const Tensor& y) { x.add_(y); }, any));
    table.push_back(inplace_binary("mul_", [](const Tensor& x, const Tensor& y) { x.mul_(y); }));
    table.push_back(inplace_binary(
        "copy_", [](const Tensor& x, const Tensor& y) { x.copy_(castable(y, x.scalar_type())); }));
  }
  table.push_back(inplace_binary("sub_", [](const Tensor& x, const Tensor& y) { x.sub_(y); }));
  table.push_back(inplace_binary("div_", [](const Tensor& x, const Tensor& y) { x.div_(divisor(y)); }));
  table.push_back(inplace_binary("masked_fill_",
                                 [](const Tensor& x, const Tensor& y) { x.masked_fill_(at::gt(y, 0), 2); }));
  table.push_back(
      inplace_binary("logical_and_", [](const Tensor& x, const Tensor& y) { x.logical_and_(y); }));
}

void add_foreach(std::vector<Op>& table) {
  Op op{"_foreach_add_", OpGroup::InPlace};
  op.writes = 2;
  op.elementwise = true;
  op.propose = [](Rng& rng, const Scope& scope, Statement& s) {
    const Var* x = scope.pick(rng, is_real);
    const Var* y = scope.pick(rng, is_real);
    if (!x || !y || x->id == y->id) return false;
    s.args = {x->id, y->id};
    s.numbers = {small_number(rng)};
    return true;
  };
  op.apply = [](const Tensors& t, const Statement& s) {
    at::_foreach_add_(t, scalar(s.numbers[0]));
    return Tensors{};
  };
  table.push_back(op);
}

/// Returns distinct indices along the dim: which of two writes to one element wins is unspecified.
Tensor distinct(const Tensor& any, int64_t dim) { return at::argsort(whole(any), /*stable=*/true, dim); }

bool fits_within(const Tensor& small, const Tensor& large) {
  if (small.dim() != large.dim()) return false;
  for (int64_t d = 0; d < small.dim(); ++d)
    if (small.size(d) > large.size(d)) return false;
  return true;
}

/// args = {x, numbers to compute the index from, source}, ints = {dim}. A vector index is for dim 0.
Op indexed_write(const char* name, bool vector_index, std::function<void(const Tensors&, int64_t)> function) {
  Op op{name, OpGroup::InPlace};
  op.writes = 1;
  op.propose = [vector_index](Rng& rng, const Scope& scope, Statement& s) {
    const Var* x = scope.pick(rng, [](const Tensor& t) { return t.dim() > 0 && t.numel() > 0; });
    if (!x) return false;
    const Var* index = scope.pick(rng, [&](const Tensor& t) {
      if (!is_real(t)) return false;
      return vector_index ? t.dim() == 1 && t.size(0) <= x->tensor.size(0) : fits_within(t, x->tensor);
    });
    const Var* source = scope.pick(rng, [&](const Tensor& t) {
      return t.scalar_type() == x->tensor.scalar_type() && broadcasts_to(t, x->tensor);
    });
    if (!index) return false;
    s.args = {x->id, index->id, source->id};
    s.ints = {vector_index ? 0 : rng.below(x->tensor.dim())};
    return true;
  };
  op.apply = [function](const Tensors& t, const Statement& s) {
    function(t, s.ints[0]);
    return Tensors{};
  };
  return op;
}

Tensor source_rows(const Tensors& t) { return t[2].expand_as(t[0]).narrow(0, 0, t[1].size(0)); }

void add_indexed(std::vector<Op>& table) {
  table.push_back(indexed_write("index_put_", true, [](const Tensors& t, int64_t dim) {
    c10::List<std::optional<Tensor>> indices;
    indices.push_back(distinct(t[1], dim));
    t[0].index_put_(indices, source_rows(t));
  }));
  table.push_back(indexed_write("index_add_", true, [](const Tensors& t, int64_t dim) {
    t[0].index_add_(dim, index_below(t[1], t[0].size(dim)), whole(source_rows(t)));
  }));
  table.push_back(indexed_write("scatter_", false, [](const Tensors& t, int64_t dim) {
    t[0].scatter_(dim, distinct(t[1], dim), t[2].expand_as(t[0]));
  }));
  table.push_back(indexed_write("scatter_value_", false, [](const Tensors& t, int64_t dim) {
    t[0].scatter_(dim, distinct(t[1], dim), 3);
  }));
}

/// args = {out, a, b}. `out` has the shape of the result, since eager deprecates resizing an out argument.
Op with_out(const char* name, Tensor& (*function)(Tensor&, const Tensor&, const Tensor&)) {
  Op op{name, OpGroup::Out};
  op.writes = 1;
  op.elementwise = true;
  op.propose = [](Rng& rng, const Scope& scope, Statement& s) {
    const Var* out = scope.pick(rng, is_real);
    if (!out) return false;
    auto fits = [&](const Tensor& t) { return is_real(t) && broadcasts_to(t, out->tensor); };
    const Var* a =
        scope.pick(rng, [&](const Tensor& t) { return t.sizes() == out->tensor.sizes() && is_real(t); });
    const Var* b = scope.pick(rng, fits);
    s.args = {out->id, a->id, b->id};
    return true;
  };
  op.apply = [function](const Tensors& t, const Statement&) {
    Tensor out = t[0];
    TORCH_CHECK(out.sizes() == at::IntArrayRef(at::infer_size(t[1].sizes(), t[2].sizes())));
    function(out, t[1], t[2]);
    return Tensors{};
  };
  return op;
}

Sizes without_dim(const Tensor& t, int64_t dim) {
  Sizes sizes = t.sizes().vec();
  TORCH_CHECK(dim < t.dim());
  sizes.erase(sizes.begin() + dim);
  return sizes;
}

void add_outs(std::vector<Op>& table) {
  table.push_back(with_out("add_out", [](Tensor& out, const Tensor& a, const Tensor& b) -> Tensor& {
    return at::add_out(out, a, b);
  }));
  table.push_back(with_out("mul_out", [](Tensor& out, const Tensor& a, const Tensor& b) -> Tensor& {
    return at::mul_out(out, a, b);
  }));
  table.push_back(with_out("maximum_out", [](Tensor& out, const Tensor& a, const Tensor& b) -> Tensor& {
    return at::maximum_out(out, a, b);
  }));
  Op sum{"sum_out", OpGroup::Out};
  sum.writes = 1;
  sum.propose = [](Rng& rng, const Scope& scope, Statement& s) {
    const Var* x = scope.pick(rng, has_dim(1, is_real));
    if (!x) return false;
    const int64_t dim = rng.below(x->tensor.dim());
    const Sizes sizes = without_dim(x->tensor, dim);
    const Var* out =
        scope.pick(rng, [&](const Tensor& t) { return is_real(t) && t.sizes() == at::IntArrayRef(sizes); });
    if (!out) return false;
    s.args = {out->id, x->id};
    s.ints = {dim};
    return true;
  };
  sum.apply = [](const Tensors& t, const Statement& s) {
    Tensor out = t[0];
    TORCH_CHECK(out.sizes() == at::IntArrayRef(without_dim(t[1], s.ints[0])));
    at::sum_out(out, castable(whole(t[1]), out.scalar_type()), s.ints[0], false, out.scalar_type());
    return Tensors{};
  };
  table.push_back(sum);
}

}  // namespace

void add_inplace_ops(std::vector<Op>& table) {
  add_elementwise(table);
  add_foreach(table);
  add_indexed(table);
  add_outs(table);
}

}  // namespace antegrad::fuzz
