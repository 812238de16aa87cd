#include "fuzz/op.h"

namespace antegrad::fuzz {
namespace {

using at::Scalar;
using at::Tensor;
using WithNumber = std::function<Tensor(const Tensor&, const Scalar&)>;

Op with_number(const char* name, WithNumber function, Scope::Accept accept = is_real) {
  Op op{name};
  op.enabled = &GeneratorConfig::awkward_numbers;
  op.propose = [accept](Rng& rng, const Scope& scope, Statement& s) {
    const Var* x = scope.pick(rng, accept);
    if (!x) return false;
    s.args = {x->id};
    s.numbers = {small_number(rng)};
    return true;
  };
  op.apply = [function](const Tensors& t, const Statement& s) {
    return Tensors{function(t[0], scalar(s.numbers[0]))};
  };
  return op;
}

/// Passes the number as a 0-dim tensor. Its dtype may differ from the operand's, and does not affect the
/// result's.
Op with_tensor(const char* name, std::function<Tensor(const Tensor&, const Tensor&)> function,
               at::ScalarType type) {
  return with_number(
      name,
      [function, type](const Tensor& t, const Scalar& n) { return function(t, at::scalar_tensor(n, type)); },
      is_float);
}

}  // namespace

/// Adds ops with numbers that the operand's dtype cannot represent.
void add_awkward_ops(std::vector<Op>& table) {
#define NUMBER(op, ...)        \
  table.push_back(with_number( \
      #op, [](const Tensor& t, const Scalar& n) { return at::op(t, n); }, ##__VA_ARGS__))
  NUMBER(eq), NUMBER(ne), NUMBER(lt), NUMBER(le), NUMBER(gt), NUMBER(ge);
  NUMBER(mul), NUMBER(clamp_max), NUMBER(clamp_min), NUMBER(hardshrink, is_float), NUMBER(fmod, is_float);
  NUMBER(remainder, is_float), NUMBER(div, is_float);
#undef NUMBER
  const auto masked = [](const Tensor& t, const Scalar& n) { return at::masked_fill(t, at::gt(t, 0), n); };
  table.push_back(with_number("masked_fill", masked));
  const auto chosen = [](const Tensor& t, const Scalar& n) { return at::where(at::gt(t, 0), t, n); };
  table.push_back(with_number("where", chosen));
  const auto filled = [](const Tensor& t, const Scalar& n) { return at::add(t, at::full_like(t, n)); };
  table.push_back(with_number("add_full_like", filled));
  const auto limited = [](const Tensor& t, const Scalar& n) { return at::threshold(t, n, 2); };
  table.push_back(with_number("threshold", limited, is_float));
  for (const auto type : {at::kFloat, at::kDouble, at::kHalf}) {
    table.push_back(with_tensor(
        "mul_0d", [](const Tensor& a, const Tensor& b) { return at::mul(a, b); }, type));
    table.push_back(with_tensor(
        "eq_0d", [](const Tensor& a, const Tensor& b) { return at::eq(a, b); }, type));
    table.push_back(with_tensor(
        "gt_0d", [](const Tensor& a, const Tensor& b) { return at::gt(a, b); }, type));
    table.push_back(with_tensor(
        "max_0d", [](const Tensor& a, const Tensor& b) { return at::maximum(a, b); }, type));
  }
}

}  // namespace antegrad::fuzz
