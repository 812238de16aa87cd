#include "fuzz/op.h"

namespace antegrad::fuzz {
namespace {

using at::Tensor;
using Reduce = std::function<Tensors(const Tensor&, int64_t dim, bool keepdim)>;

/// ints = {dim, keepdim}
Op reduction(const char* name, Reduce function, Scope::Accept accept = is_real) {
  Op op{name};
  op.propose = [accept](Rng& rng, const Scope& scope, Statement& s) {
    const Var* x = scope.pick(rng, has_dim(1, accept));
    if (!x) return false;
    s.args = {x->id};
    s.ints = {rng.below(x->tensor.dim()), rng.below(2)};
    return true;
  };
  op.apply = [function](const Tensors& t, const Statement& s) {
    return function(t[0], s.ints[0], s.ints[1] != 0);
  };
  return op;
}

Op full_reduction(const char* name, Tensor (*function)(const Tensor&)) {
  Op op{name};
  op.propose = [](Rng& rng, const Scope& scope, Statement& s) {
    const Var* x = scope.pick(rng, is_real);
    if (x) s.args = {x->id};
    return x != nullptr;
  };
  op.apply = [function](const Tensors& t, const Statement&) { return Tensors{function(whole(t[0]))}; };
  return op;
}

void add_reductions(std::vector<Op>& table) {
  table.push_back(reduction(
      "sum", [](const Tensor& t, int64_t d, bool keep) { return Tensors{at::sum(whole(t), d, keep)}; }));
  table.push_back(
      reduction("amax", [](const Tensor& t, int64_t d, bool keep) { return Tensors{at::amax(t, d, keep)}; }));
  table.push_back(reduction(
      "mean", [](const Tensor& t, int64_t d, bool keep) { return Tensors{at::mean(whole(t), d, keep)}; },
      is_float));
  table.push_back(
      reduction("any", [](const Tensor& t, int64_t d, bool keep) { return Tensors{at::any(t, d, keep)}; }));
  table.push_back(reduction(
      "argmax", [](const Tensor& t, int64_t d, bool keep) { return Tensors{at::argmax(t, d, keep)}; }));
  table.push_back(reduction("max", [](const Tensor& t, int64_t d, bool keep) {
    auto [values, indices] = at::max(t, d, keep);
    return Tensors{values, indices};
  }));
  table.push_back(reduction("sort", [](const Tensor& t, int64_t d, bool descending) {
    auto [values, indices] = at::sort(t, /*stable=*/true, d, descending);
    return Tensors{values, indices};
  }));
  table.push_back(
      reduction("cumsum", [](const Tensor& t, int64_t d, bool) { return Tensors{at::cumsum(whole(t), d)}; }));
  table.push_back(reduction(
      "coarse_softmax",
      [](const Tensor& t, int64_t d, bool) {
        const auto shares = at::softmax(whole(t).to(at::kFloat), d);  // short floats would show rounding
        return Tensors{at::round(at::mul(shares, 13.37)).to(t.scalar_type())};
      },
      is_float));
  table.push_back(full_reduction("sum", [](const Tensor& t) { return at::sum(t); }));
  table.push_back(full_reduction("max", [](const Tensor& t) { return at::max(t); }));
}

bool fits_matmul(const Tensor& t) {
  return t.scalar_type() == at::kFloat || t.scalar_type() == at::kDouble || t.scalar_type() == at::kLong;
}

Op matmul(const char* name, int64_t left_dim, int64_t right_dim) {
  Op op{name};
  op.propose = [=](Rng& rng, const Scope& scope, Statement& s) {
    const Var* a = scope.pick(rng, [&](const Tensor& t) { return t.dim() == left_dim && fits_matmul(t); });
    if (!a) return false;
    const Var* b = scope.pick(rng, [&](const Tensor& t) {
      return t.dim() == right_dim && t.scalar_type() == a->tensor.scalar_type() &&
             t.size(right_dim == 1 ? 0 : -2) == a->tensor.size(-1);
    });
    if (!b) return false;
    s.args = {a->id, b->id};
    return true;
  };
  op.apply = [](const Tensors& t, const Statement&) { return Tensors{at::matmul(whole(t[0]), whole(t[1]))}; };
  return op;
}

void add_addmm(std::vector<Op>& table) {
  Op op = matmul("addmm", 2, 2);
  auto propose = op.propose;
  op.propose = [propose](Rng& rng, const Scope& scope, Statement& s) {
    if (!propose(rng, scope, s)) return false;
    const Var* bias = scope.pick(rng, [](const Tensor& t) { return t.dim() <= 2 && fits_matmul(t); });
    if (bias) s.args.push_back(bias->id);
    return bias != nullptr;
  };
  op.apply = [](const Tensors& t, const Statement&) {
    return Tensors{at::addmm(whole(t[2]), whole(t[0]), whole(t[1]))};
  };
  table.push_back(op);
}

}  // namespace

void add_reduction_ops(std::vector<Op>& table) {
  add_reductions(table);
  table.push_back(matmul("matmul", 2, 2));
  table.push_back(matmul("matmul", 2, 1));
  table.push_back(matmul("matmul", 1, 2));
  table.push_back(matmul("matmul", 3, 2));
  add_addmm(table);
}

}  // namespace antegrad::fuzz
