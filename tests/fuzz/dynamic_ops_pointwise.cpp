#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "fuzz/dynamic_op.h"

namespace antegrad::fuzz {
namespace {

using at::Tensor;
using Unary = Tensor (*)(const Tensor&);
using Binary = Tensor (*)(const Tensor&, const Tensor&);

DynamicOp unary(const char* name, Unary f) {
  return of_one(name, 0, [f](const Tensor& x, const Ints&) { return f(x); });
}

DynamicOp binary(const char* name, Binary f) {
  return of_two(name, [f](const Tensor& x, const Tensor& y, const Ints&) { return f(x, y); });
}

/// An op with a number computed from the sizes of one or two dims.
DynamicOp scaled(const char* name, Tensor (*f)(const Tensor& x, int64_t n, int64_t m)) {
  return of_one(name, 1, [f](const Tensor& x, const Ints& i) { return f(x, x.size(i[0]), x.size(i[1])); });
}

double real(int64_t n) { return static_cast<double>(n); }

}  // namespace

Ints dynamic_ints(DynamicScope& scope, const DynamicStep& step) {
  auto& rng = scope.rng();
  const auto rank = std::max<int64_t>(scope.rank(step.args[0]), 1);
  return {rng.below(rank), rng.below(rank), rng.below(6), rng.below(6), rng.below(6)};
}

DynamicOp of_one(const char* name, int64_t least_rank, OfOne apply) {
  const auto propose = [least_rank](DynamicScope& scope, DynamicStep& step) {
    step.args = {scope.pick(least_rank, 5, step.op->kinks)};
    if (step.args[0] < 0) return false;
    step.ints = dynamic_ints(scope, step);
    return true;
  };
  // squeeze() may have removed more dims than at the probes.
  return {name, propose, [apply, least_rank](const Tensors& t, const Ints& i) {
            TORCH_CHECK(t[0].dim() >= least_rank && std::max(i[0], i[1]) < std::max<int64_t>(t[0].dim(), 1),
                        "too few dims");
            return apply(t[0], i);
          }};
}

DynamicOp of_two(const char* name, OfTwo apply) {
  const auto propose = [](DynamicScope& scope, DynamicStep& step) {
    const bool exact = step.op->kinks;
    const int first = scope.pick(0, 5, exact);
    if (first < 0) return false;
    const int second =
        scope.pick([&](int v) { return scope.broadcasts(first, v) && (scope.exact(v) || !exact); });
    step.args = scope.rng().percent(50) ? std::vector{first, second} : std::vector{second, first};
    step.ints = dynamic_ints(scope, step);
    return true;
  };
  return {name, propose, [apply](const Tensors& t, const Ints& i) { return apply(t[0], t[1], i); }};
}

const DynamicTheme& dynamic_unary_ops() {
  static const DynamicTheme ops{
      unary("sin", [](const Tensor& x) { return x.sin(); }),
      unary("cos", [](const Tensor& x) { return x.cos(); }),
      unary("tanh", [](const Tensor& x) { return x.tanh(); }),
      unary("sigmoid", [](const Tensor& x) { return x.sigmoid(); }),
      unary("silu", [](const Tensor& x) { return at::silu(x); }),
      unary("gelu", [](const Tensor& x) { return at::gelu(x); }),
      unary("softplus", [](const Tensor& x) { return at::softplus(x); }),
      unary("erf", [](const Tensor& x) { return x.erf(); }),
      unary("log1p(x*x)", [](const Tensor& x) { return (x * x).log1p(); }),
      unary("rsqrt(x*x+1)", [](const Tensor& x) { return (x * x + 1).rsqrt(); }),
      unary("exp(-x*x)", [](const Tensor& x) { return (-x * x).exp(); }),
      unary("square", [](const Tensor& x) { return x.square(); }),
      unary("x*0.5+0.25", [](const Tensor& x) { return x * 0.5 + 0.25; }),
      unary("neg", [](const Tensor& x) { return x.neg(); }).that_moves(),
      unary("clone", [](const Tensor& x) { return x.clone(); }).that_moves(),
      unary("contiguous", [](const Tensor& x) { return x.contiguous(); }).that_moves(),
      unary("detach", [](const Tensor& x) { return x.detach(); }).that_moves(),
      unary("relu", [](const Tensor& x) { return x.relu(); }).with_kinks(),
      unary("abs", [](const Tensor& x) { return x.abs(); }).with_kinks(),
      unary("clamp", [](const Tensor& x) { return x.clamp(-0.5, 0.75); }).with_kinks(),
      unary("leaky_relu", [](const Tensor& x) { return at::leaky_relu(x, 0.1); }).with_kinks(),
      unary("masked_fill(x>0.3)", [](const Tensor& x) { return x.masked_fill(x > 0.3, 0.125); }).with_kinks(),
      unary("where(x>0)", [](const Tensor& x) { return at::where(x > 0, x, -0.5 * x); }).with_kinks(),
  };
  return ops;
}

const DynamicTheme& dynamic_binary_ops() {
  static const DynamicTheme ops{
      binary("add", [](const Tensor& x, const Tensor& y) { return x + y; }),
      binary("sub", [](const Tensor& x, const Tensor& y) { return x - y; }),
      binary("mul", [](const Tensor& x, const Tensor& y) { return x * y; }),
      binary("add(2)", [](const Tensor& x, const Tensor& y) { return at::add(x, y, 2); }),
      binary("x/(y*y+1)", [](const Tensor& x, const Tensor& y) { return x / (y * y + 1); }),
      binary("lerp", [](const Tensor& x, const Tensor& y) { return at::lerp(x, y, 0.25); }),
      binary("addcmul", [](const Tensor& x, const Tensor& y) { return at::addcmul(x, y, y, 0.5); }),
      binary("atan2(x,y*y+1)", [](const Tensor& x, const Tensor& y) { return at::atan2(x, y * y + 1); }),
      binary("mse", [](const Tensor& x, const Tensor& y) { return (x - y).square().mean(); }),
      binary("maximum", [](const Tensor& x, const Tensor& y) { return at::maximum(x, y); }).with_kinks(),
      binary("where(x>y)",
             [](const Tensor& x, const Tensor& y) { return at::where(x > y, x.sin(), y.cos()); })
          .with_kinks(),
      of_two("outer_sum", [](const Tensor& x, const Tensor& y, const Ints&) { return x.unsqueeze(-1) + y; }),
  };
  return ops;
}

const DynamicTheme& dynamic_scalar_ops() {
  static const DynamicTheme ops{
      scaled("x/n", [](const Tensor& x, int64_t n, int64_t) { return x / n; }),
      scaled("x*n", [](const Tensor& x, int64_t n, int64_t) { return x * n; }),
      scaled("x*(1.0/n)", [](const Tensor& x, int64_t n, int64_t) { return x * (1.0 / real(n)); }),
      scaled("x*sqrt(n)", [](const Tensor& x, int64_t n, int64_t) { return x * std::sqrt(real(n)); }),
      scaled("x/sqrt(n)", [](const Tensor& x, int64_t n, int64_t) { return x / std::sqrt(real(n)); }),
      scaled("x*pow(n,-.5)", [](const Tensor& x, int64_t n, int64_t) { return x * std::pow(real(n), -0.5); }),
      scaled("x+n%3", [](const Tensor& x, int64_t n, int64_t) { return x + n % 3; }),
      scaled("x*(n-1)", [](const Tensor& x, int64_t n, int64_t) { return x * (n - 1); }),
      scaled("x/(n*m)", [](const Tensor& x, int64_t n, int64_t m) { return x / (n * m); }),
      scaled("x+n/2.0", [](const Tensor& x, int64_t n, int64_t) { return x + real(n) / 2; }),
      scaled("x/max(n-1,1)",
             [](const Tensor& x, int64_t n, int64_t) { return x / std::max<int64_t>(n - 1, 1); }),
      scaled("x*n/m", [](const Tensor& x, int64_t n, int64_t m) { return x * (real(n) / real(m)); }),
      scaled("add(n)", [](const Tensor& x, int64_t n, int64_t) { return at::add(x, x.sin(), n); }),
      scaled("x-n", [](const Tensor& x, int64_t n, int64_t) { return n - x; }),
      scaled("x*2/n", [](const Tensor& x, int64_t n, int64_t) { return x * 2 / real(n); }),
      scaled("x*log(n)", [](const Tensor& x, int64_t n, int64_t) { return x * std::log(real(n)); }),
      scaled("x/(n+0.5)", [](const Tensor& x, int64_t n, int64_t) { return x / (real(n) + 0.5); }),
      of_one("x/numel", 1, [](const Tensor& x, const Ints&) { return x.sin() / x.numel(); }),
  };
  return ops;
}

const DynamicTheme& dynamic_branches() {
  static const DynamicTheme ops{
      scaled("n>8", [](const Tensor& x, int64_t n, int64_t) { return n > 8 ? x.sin() : x.cos(); }),
      scaled("n%2==0", [](const Tensor& x, int64_t n, int64_t) { return n % 2 == 0 ? x.tanh() : x * 2; }),
      scaled("n>m", [](const Tensor& x, int64_t n, int64_t m) { return n > m ? x + 1 : x.sigmoid(); }),
      scaled("n==1", [](const Tensor& x, int64_t n, int64_t) { return n == 1 ? x + 1 : x.erf(); }),
      scaled("n>40", [](const Tensor& x, int64_t n, int64_t) { return n > 40 ? x.neg() : at::silu(x); }),
      of_one("loop", 1,
             [](const Tensor& x, const Ints& i) {
               auto sum = x.select(i[0], 0).sin();
               for (int64_t k = 1; k < std::min<int64_t>(x.size(i[0]), 3); ++k)
                 sum = sum + x.select(i[0], k) * k;
               return sum;
             }),
      of_one("loop_over_all", 1,
             [](const Tensor& x, const Ints& i) {
               auto sum = x.narrow(i[0], 0, 1).sin();
               for (int64_t k = 4; k + 4 < x.size(i[0]); k += 4) sum = sum + x.narrow(i[0], k, 1);
               return sum;
             }),
  };
  return ops;
}

}  // namespace antegrad::fuzz
