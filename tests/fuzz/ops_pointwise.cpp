#include "fuzz/op.h"

namespace antegrad::fuzz {
namespace {

using at::Tensor;
using Unary = std::function<Tensor(const Tensor&)>;
using Binary = std::function<Tensor(const Tensor&, const Tensor&)>;
using WithNumber = std::function<Tensor(const Tensor&, const at::Scalar&)>;

Op unary(const char* name, Unary function, Scope::Accept accept = is_real) {
  Op op{name};
  op.propose = [accept](Rng& rng, const Scope& scope, Statement& s) {
    const Var* x = scope.pick(rng, accept);
    if (x) s.args = {x->id};
    return x != nullptr;
  };
  op.apply = [function](const Tensors& t, const Statement&) { return Tensors{function(t[0])}; };
  return op;
}

Op with_number(const char* name, WithNumber function, Scope::Accept accept = is_real) {
  Op op = unary(name, {}, accept);
  auto propose = op.propose;
  op.propose = [propose](Rng& rng, const Scope& scope, Statement& s) {
    s.numbers = {small_number(rng)};
    return propose(rng, scope, s);
  };
  op.apply = [function](const Tensors& t, const Statement& s) {
    return Tensors{function(t[0], scalar(s.numbers[0]))};
  };
  return op;
}

Op binary(const char* name, Binary function, Scope::Accept accept = is_real) {
  Op op{name};
  op.propose = [accept](Rng& rng, const Scope& scope, Statement& s) {
    const Var* a = scope.pick(rng, accept);
    if (!a) return false;
    const Var* b = scope.pick(rng, [&](const Tensor& t) {
      return accept(t) && (broadcasts_to(t, a->tensor) || broadcasts_to(a->tensor, t));
    });
    s.args = {a->id, b->id};
    return true;
  };
  op.apply = [function](const Tensors& t, const Statement&) { return Tensors{function(t[0], t[1])}; };
  return op;
}

/// Makes inputs and results so coarse that the last bit of the function never shows. (With short
/// floating-point types it would: generated code keeps more digits between ops.)
Unary coarse(Tensor (*function)(const Tensor&)) {
  return [function](const Tensor& t) {
    return at::round(at::mul(function(at::div(whole(t).to(at::kFloat), 8)), 13));
  };
}

void add_unary_ops(std::vector<Op>& table) {
  table.push_back(unary("neg", [](const Tensor& t) { return at::neg(t); }));
  table.push_back(unary("abs", [](const Tensor& t) { return at::abs(t); }));
  table.push_back(unary("relu", [](const Tensor& t) { return at::relu(t); }));
  table.push_back(unary(
      "floor", [](const Tensor& t) { return at::floor(t); }, is_float));
  table.push_back(unary("square", [](const Tensor& t) { return at::square(t); }));
  table.push_back(unary(
      "sqrt_abs", [](const Tensor& t) { return at::sqrt(at::abs(t)); }, is_float));
  table.push_back(unary("logical_not", [](const Tensor& t) { return at::logical_not(t); }));
  table.push_back(unary("coarse_exp", coarse(at::exp), is_float));
  table.push_back(unary("coarse_tanh", coarse(at::tanh), is_float));
  table.push_back(unary("coarse_sigmoid", coarse(at::sigmoid), is_float));
  table.push_back(unary("clone", [](const Tensor& t) { return at::clone(t); }, {}));
  table.push_back(unary("zeros_like", [](const Tensor& t) { return at::zeros_like(t); }, {}));
}

void add_number_ops(std::vector<Op>& table) {
  auto any = [](const Tensor&) { return true; };
  table.push_back(with_number(
      "add", [](const Tensor& t, const at::Scalar& n) { return at::add(t, n); }, any));
  table.push_back(with_number("mul", [](const Tensor& t, const at::Scalar& n) { return at::mul(t, n); }));
  table.push_back(with_number("rsub", [](const Tensor& t, const at::Scalar& n) { return at::rsub(t, n); }));
  table.push_back(with_number("gt", [](const Tensor& t, const at::Scalar& n) { return at::gt(t, n); }));
  table.push_back(with_number("eq", [](const Tensor& t, const at::Scalar& n) { return at::eq(t, n); }));
  table.push_back(
      with_number("clamp_min", [](const Tensor& t, const at::Scalar& n) { return at::clamp_min(t, n); }));
  table.push_back(
      with_number("full_like", [](const Tensor& t, const at::Scalar& n) { return at::full_like(t, n); }));
}

void add_binary_ops(std::vector<Op>& table) {
  auto any = [](const Tensor&) { return true; };
  for (int twice = 0; twice < 2; ++twice) {  // the most common ops of real programs
    table.push_back(binary(
        "add", [](const Tensor& a, const Tensor& b) { return at::add(a, b); }, any));
    table.push_back(binary("mul", [](const Tensor& a, const Tensor& b) { return at::mul(a, b); }));
  }
  table.push_back(binary("add_twice", [](const Tensor& a, const Tensor& b) { return at::add(a, b, 2); }));
  table.push_back(binary(
      "sub", [](const Tensor& a, const Tensor& b) { return at::sub(a, b); }, any));
  table.push_back(binary("div", [](const Tensor& a, const Tensor& b) { return at::div(a, divisor(b)); }));
  table.push_back(binary("maximum", [](const Tensor& a, const Tensor& b) { return at::maximum(a, b); }));
  table.push_back(binary("minimum", [](const Tensor& a, const Tensor& b) { return at::minimum(a, b); }));
  table.push_back(binary("lt", [](const Tensor& a, const Tensor& b) { return at::lt(a, b); }));
  table.push_back(
      binary("logical_and", [](const Tensor& a, const Tensor& b) { return at::logical_and(a, b); }));
  table.push_back(binary(
      "bitwise_xor", [](const Tensor& a, const Tensor& b) { return at::bitwise_xor(a, b); }, is_integer));
}

void add_where(std::vector<Op>& table) {
  Op op = binary("where", {});
  auto propose = op.propose;
  op.propose = [propose](Rng& rng, const Scope& scope, Statement& s) {
    const Var* condition = scope.pick(rng, is_real);
    if (!condition || !propose(rng, scope, s)) return false;
    s.args.push_back(condition->id);
    return true;
  };
  op.apply = [](const Tensors& t, const Statement&) {
    return Tensors{at::where(at::gt(t[2], 0), t[0], t[1])};
  };
  table.push_back(op);
}

/// to() returns its argument when nothing changes, so the result is sometimes an alias.
void add_cast(std::vector<Op>& table) {
  Op op{"to"};
  op.propose = [](Rng& rng, const Scope& scope, Statement& s) {
    static const std::vector<at::ScalarType> types = {at::kFloat, at::kFloat, at::kDouble,  at::kLong,
                                                      at::kInt,   at::kBool,  at::kBFloat16};
    const Var* x = scope.pick(rng, is_real);
    if (!x) return false;
    s.args = {x->id};
    s.ints = {static_cast<int64_t>(rng.percent(30) ? x->tensor.scalar_type() : rng.pick(types))};
    return true;
  };
  op.apply = [](const Tensors& t, const Statement& s) {
    const auto type = static_cast<at::ScalarType>(s.ints[0]);
    return Tensors{castable(t[0], type).to(type)};
  };
  table.push_back(op);
}

}  // namespace

void add_pointwise_ops(std::vector<Op>& table) {
  add_unary_ops(table);
  add_number_ops(table);
  add_binary_ops(table);
  add_where(table);
  add_cast(table);
}

}  // namespace antegrad::fuzz
