#include "fuzz/op.h"

namespace antegrad::fuzz {
namespace {

using at::Tensor;

/// args = {x, index}, ints = {dim}
bool propose_indexed(Rng& rng, const Scope& scope, Statement& s, const Scope::Accept& fits_index) {
  const Var* x = scope.pick(rng, has_dim(1));
  const Var* index = x ? scope.pick(rng, fits_index) : nullptr;
  if (!index) return false;
  s.args = {x->id, index->id};
  s.ints = {rng.below(x->tensor.dim())};
  return true;
}

bool is_vector(const Tensor& t) { return t.dim() == 1 && is_real(t); }

void add_gathers(std::vector<Op>& table) {
  Op select{"index_select"};
  select.propose = [](Rng& rng, const Scope& scope, Statement& s) {
    return propose_indexed(rng, scope, s, is_vector);
  };
  select.apply = [](const Tensors& t, const Statement& s) {
    return Tensors{at::index_select(t[0], s.ints[0], index_below(t[1], t[0].size(s.ints[0])))};
  };
  table.push_back(select);

  Op index{"index"};
  index.propose = [](Rng& rng, const Scope& scope, Statement& s) {
    return propose_indexed(rng, scope, s, is_real);
  };
  index.apply = [](const Tensors& t, const Statement& s) {
    c10::List<std::optional<Tensor>> indices;
    for (int64_t d = 0; d < s.ints[0]; ++d) indices.push_back(std::nullopt);
    indices.push_back(index_below(t[1], t[0].size(s.ints[0])));
    return Tensors{at::index(t[0], indices)};
  };
  table.push_back(index);

  Op gather{"gather"};
  gather.propose = [](Rng& rng, const Scope& scope, Statement& s) {
    const Var* x = scope.pick(rng, has_dim(1));
    if (!x) return false;
    const int64_t dim = rng.below(x->tensor.dim());
    const Var* index = scope.pick(rng, [&](const Tensor& t) {
      bool fits = is_real(t) && t.dim() == x->tensor.dim();
      for (int64_t d = 0; fits && d < t.dim(); ++d) fits = d == dim || t.size(d) <= x->tensor.size(d);
      return fits;
    });
    if (!index) return false;
    s.args = {x->id, index->id};
    s.ints = {dim};
    return true;
  };
  gather.apply = [](const Tensors& t, const Statement& s) {
    return Tensors{at::gather(t[0], s.ints[0], index_below(t[1], t[0].size(s.ints[0])))};
  };
  table.push_back(gather);
}

void add_joins(std::vector<Op>& table) {
  for (const bool stack : {false, true}) {
    Op op{stack ? "stack" : "cat"};
    op.propose = [](Rng& rng, const Scope& scope, Statement& s) {
      const Var* a = scope.pick(rng, has_dim(1));
      if (!a) return false;
      const Var* b = scope.pick(rng, [&](const Tensor& t) { return t.sizes() == a->tensor.sizes(); });
      s.args = {a->id, b->id};
      s.ints = {rng.below(a->tensor.dim())};
      return true;
    };
    op.apply = [stack](const Tensors& t, const Statement& s) {
      return Tensors{stack ? at::stack(t, s.ints[0]) : at::cat(t, s.ints[0])};
    };
    table.push_back(op);
  }
}

/// ints = {dim}
Op rearrange(const char* name, std::function<Tensor(const Tensor&, int64_t)> function) {
  Op op{name};
  op.propose = [](Rng& rng, const Scope& scope, Statement& s) {
    const Var* x = scope.pick(rng, has_dim(1, is_real));
    if (!x) return false;
    s.args = {x->id};
    s.ints = {rng.below(x->tensor.dim())};
    return true;
  };
  op.apply = [function](const Tensors& t, const Statement& s) { return Tensors{function(t[0], s.ints[0])}; };
  return op;
}

/// args = {a tensor on the device to use}
void add_factories(std::vector<Op>& table) {
  Op full{"full"};
  full.propose = [](Rng& rng, const Scope& scope, Statement& s) {
    const Var* like = scope.pick(rng);
    s.args = {like->id};
    s.ints = like->tensor.sizes().vec();
    s.numbers = {small_number(rng)};
    return true;
  };
  full.apply = [](const Tensors& t, const Statement& s) {
    return Tensors{at::full(s.ints, s.numbers[0], t[0].options().dtype(at::kFloat))};
  };
  table.push_back(full);

  Op arange{"arange"};
  arange.propose = [](Rng& rng, const Scope& scope, Statement& s) {
    s.args = {scope.pick(rng)->id};
    s.ints = {scope.extent(rng)};
    return true;
  };
  arange.apply = [](const Tensors& t, const Statement& s) {
    return Tensors{at::arange(s.ints[0], t[0].options().dtype(at::kLong))};
  };
  table.push_back(arange);
}

}  // namespace

void add_index_ops(std::vector<Op>& table) {
  add_gathers(table);
  add_joins(table);
  add_factories(table);
  table.push_back(rearrange("flip", [](const Tensor& t, int64_t d) { return at::flip(t, d); }));
  table.push_back(rearrange("roll", [](const Tensor& t, int64_t d) { return at::roll(t, 1, d); }));
  table.push_back(rearrange("constant_pad_nd", [](const Tensor& t, int64_t) {
    return at::constant_pad_nd(t, {1, 0}, 2);
  }));
  table.push_back(rearrange("repeat_rows", [](const Tensor& t, int64_t) {
    Sizes repeats(static_cast<size_t>(t.dim()), 1);
    repeats[0] = 2;
    return t.repeat(repeats);
  }));
}

}  // namespace antegrad::fuzz
