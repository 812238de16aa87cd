#include <ATen/ATen.h>

#include <cmath>
#include <set>

#include "fuzz/fusion_op.h"

namespace antegrad::fuzz {
namespace {

using at::Tensor;
using Unary = Tensor (*)(const Tensor&);
using Binary = Tensor (*)(const Tensor&, const Tensor&);

constexpr bool kJumps = true;

bool any(const Tensor&) { return true; }
bool not_bool(const Tensor& t) { return t.scalar_type() != at::kBool; }
bool whole(const Tensor& t) { return !t.is_floating_point(); }

FusionOp unary(const char* name, Unary function, bool jumps = false, FusionScope::Accept accept = any) {
  const auto propose = [accept](FusionScope& scope, FusionStep& step) {
    step.args = {scope.pick(accept)};
    return step.args[0] >= 0;
  };
  const auto apply = [function](const Tensors& t, const FusionStep&) { return function(t[0]); };
  return {name, propose, apply, jumps};
}

bool broadcasts(const Tensor& a, const Tensor& b) {
  for (int64_t d = 1; d <= std::min(a.dim(), b.dim()); ++d)
    if (a.size(-d) != b.size(-d) && a.size(-d) != 1 && b.size(-d) != 1) return false;
  return true;
}

/// Picks `count` operands that broadcast with each other.
bool pick_operands(FusionScope& scope, FusionStep& step, size_t count, const FusionScope::Accept& accept) {
  while (step.args.size() < count) {
    const int next = scope.pick([&](const Tensor& t) {
      if (!accept(t)) return false;
      for (const int other : step.args)
        if (!broadcasts(t, scope.tensor(other))) return false;
      return true;
    });
    if (next < 0) return false;
    step.args.push_back(next);
  }
  return true;
}

FusionOp binary(const char* name, Binary function, bool jumps = false, FusionScope::Accept accept = any) {
  const auto propose = [accept](FusionScope& scope, FusionStep& step) {
    return pick_operands(scope, step, 2, accept);
  };
  const auto apply = [function](const Tensors& t, const FusionStep&) { return function(t[0], t[1]); };
  return {name, propose, apply, jumps};
}

using WithNumber = Tensor (*)(const Tensor&, const at::Scalar&);

/// Passes whole numbers as integers.
at::Scalar scalar(double number) {
  return number == std::floor(number) ? at::Scalar(static_cast<int64_t>(number)) : at::Scalar(number);
}

FusionOp with_number(const char* name, WithNumber function, std::vector<double> numbers, bool jumps = false,
                     FusionScope::Accept accept = any) {
  const auto propose = [accept, numbers](FusionScope& scope, FusionStep& step) {
    step.args = {scope.pick(accept)};
    step.numbers = {scope.rng().pick(numbers)};
    return step.args[0] >= 0;
  };
  const auto apply = [function](const Tensors& t, const FusionStep& s) {
    return function(t[0], scalar(s.numbers[0]));
  };
  return {name, propose, apply, jumps};
}

at::ScalarType chosen_dtype(const FusionStep& step, bool wide) {
  const auto dtype = static_cast<at::ScalarType>(step.ints[0]);
  return wide && at::isFloatingType(dtype) ? at::kDouble : dtype;
}

FusionOp cast(std::vector<at::ScalarType> dtypes, bool jumps) {
  const auto propose = [dtypes](FusionScope& scope, FusionStep& step) {
    step.args = {scope.pick()};
    step.ints = {static_cast<int64_t>(scope.rng().pick(dtypes))};
    return true;
  };
  const auto apply = [](const Tensors& t, const FusionStep& s) {
    return t[0].to(chosen_dtype(s, at::get_default_dtype_as_scalartype() == at::kDouble));
  };
  return {"to", propose, apply, jumps};
}

FusionOp where() {
  const auto propose = [](FusionScope& scope, FusionStep& step) {
    step.args = {scope.pick([](const Tensor& t) { return t.scalar_type() == at::kBool; })};
    return step.args[0] >= 0 && pick_operands(scope, step, 3, any);
  };
  return {"where", propose, [](const Tensors& t, const FusionStep&) { return at::where(t[0], t[1], t[2]); }};
}

FusionOp masked_fill() {
  const auto propose = [](FusionScope& scope, FusionStep& step) {
    step.args = {scope.pick(not_bool)};
    step.numbers = {static_cast<double>(scope.rng().range(-3, 3))};
    if (step.args[0] < 0) return false;
    const Tensor& x = scope.tensor(step.args[0]);
    step.args.push_back(scope.pick([&](const Tensor& t) {
      return t.scalar_type() == at::kBool && broadcasts(t, x) && t.dim() <= x.dim();
    }));
    return step.args[1] >= 0;
  };
  return {"masked_fill", propose, [](const Tensors& t, const FusionStep& s) {
            return at::masked_fill(t[0], t[1], scalar(s.numbers[0]));
          }};
}

using Ternary = Tensor (*)(const Tensor&, const Tensor&, const Tensor&);
FusionOp ternary(const char* name, Ternary function) {
  const auto propose = [](FusionScope& scope, FusionStep& step) {
    return pick_operands(scope, step, 3, is_floating);
  };
  return {name, propose,
          [function](const Tensors& t, const FusionStep&) { return function(t[0], t[1], t[2]); }};
}

FusionTheme make_unary_ops() {
  FusionTheme table;
#define SMOOTH(name) table.push_back(unary(#name, at::name))
  SMOOTH(abs), SMOOTH(neg), SMOOTH(exp), SMOOTH(exp2), SMOOTH(expm1), SMOOTH(log), SMOOTH(log2);
  SMOOTH(log10), SMOOTH(log1p), SMOOTH(sin), SMOOTH(cos), SMOOTH(tan), SMOOTH(asin), SMOOTH(acos);
  SMOOTH(atan), SMOOTH(sinh), SMOOTH(cosh), SMOOTH(tanh), SMOOTH(asinh), SMOOTH(acosh), SMOOTH(atanh);
  SMOOTH(erf), SMOOTH(erfc), SMOOTH(erfinv), SMOOTH(lgamma), SMOOTH(digamma), SMOOTH(reciprocal);
  SMOOTH(rsqrt), SMOOTH(sqrt), SMOOTH(square), SMOOTH(sigmoid), SMOOTH(sinc), SMOOTH(i0);
  SMOOTH(special_entr), SMOOTH(relu), SMOOTH(silu), SMOOTH(mish), SMOOTH(deg2rad);
  SMOOTH(rad2deg), SMOOTH(log_sigmoid), SMOOTH(hardsigmoid), SMOOTH(hardswish), SMOOTH(relu6);
#undef SMOOTH
#define JUMPING(name) table.push_back(unary(#name, at::name, kJumps))
  JUMPING(ceil), JUMPING(floor), JUMPING(trunc), JUMPING(frac), JUMPING(round), JUMPING(sign), JUMPING(sgn);
  JUMPING(isnan), JUMPING(isinf), JUMPING(isfinite), JUMPING(signbit), JUMPING(logical_not);
  JUMPING(isposinf), JUMPING(isneginf), JUMPING(angle);
#undef JUMPING
  table.push_back(unary("bitwise_not", at::bitwise_not, false, whole));
  table.push_back(unary("celu", [](const Tensor& t) { return at::celu(t, 0.5); }));
  table.push_back(unary("gelu", [](const Tensor& t) { return at::gelu(t); }));
  table.push_back(unary("gelu_tanh", [](const Tensor& t) { return at::gelu(t, "tanh"); }));
  table.push_back(unary("elu", [](const Tensor& t) { return at::elu(t, 0.75, 1.25, 0.5); }));
  table.push_back(unary("leaky_relu", [](const Tensor& t) { return at::leaky_relu(t, 0.125); }));
  table.push_back(unary("hardtanh", [](const Tensor& t) { return at::hardtanh(t, -1.5, 1); }));
  table.push_back(unary("softplus", [](const Tensor& t) { return at::softplus(t, 2, 3); }));
  table.push_back(unary("softshrink", [](const Tensor& t) { return at::softshrink(t, 0.25); }));
  table.push_back(unary(
      "hardshrink", [](const Tensor& t) { return at::hardshrink(t, 0.5); }, kJumps));
  table.push_back(unary(
      "threshold", [](const Tensor& t) { return at::threshold(t, 0.5, -2); }, kJumps));
  table.push_back(unary("nan_to_num", [](const Tensor& t) { return at::nan_to_num(t, 1, 2, -2); }));
  table.push_back(unary("logit", [](const Tensor& t) { return at::logit(t, 0.0625); }));
  const std::set<std::string> exact{"abs", "neg", "square", "relu", "relu6", "hardtanh", "nan_to_num"};
  for (auto& op : table) op.rounds = !op.jumps && !exact.contains(op.name);
  return table;
}

FusionTheme make_binary_ops() {
  FusionTheme table;
#define SMOOTH(name) table.push_back(binary(#name, at::name))
  SMOOTH(mul), SMOOTH(mul), SMOOTH(div), SMOOTH(maximum), SMOOTH(minimum), SMOOTH(fmax), SMOOTH(fmin);
  SMOOTH(hypot), SMOOTH(logaddexp), SMOOTH(logaddexp2), SMOOTH(xlogy), SMOOTH(mul);
#undef SMOOTH
#define JUMPING(name) table.push_back(binary(#name, at::name, kJumps))
  JUMPING(pow), JUMPING(atan2), JUMPING(copysign), JUMPING(floor_divide), JUMPING(remainder), JUMPING(fmod),
      JUMPING(eq);
  JUMPING(ne), JUMPING(lt), JUMPING(le), JUMPING(gt), JUMPING(ge), JUMPING(logical_and);
  JUMPING(logical_or), JUMPING(logical_xor), JUMPING(heaviside);
#undef JUMPING
#define WHOLE(name) table.push_back(binary(#name, at::name, false, whole))
  WHOLE(bitwise_and), WHOLE(bitwise_or), WHOLE(bitwise_xor), WHOLE(gcd), WHOLE(lcm);
#undef WHOLE
  const auto add = [](const Tensor& a, const Tensor& b) { return at::add(a, b); };
  table.insert(table.end(), 3, binary("add", add));
  table.push_back(binary("add_twice", [](const Tensor& a, const Tensor& b) { return at::add(a, b, 2); }));
  table.push_back(binary("sub", [](const Tensor& a, const Tensor& b) { return at::sub(a, b); }));
  table.push_back(binary("sub_half", [](const Tensor& a, const Tensor& b) { return at::sub(a, b, 0.5); }));
  table.push_back(binary("rsub", [](const Tensor& a, const Tensor& b) { return at::rsub(a, b); }));
  table.push_back(binary(
      "div_floor", [](const Tensor& a, const Tensor& b) { return at::div(a, b, "floor"); }, kJumps));
  table.push_back(binary(
      "div_trunc", [](const Tensor& a, const Tensor& b) { return at::div(a, b, "trunc"); }, kJumps));
  return table;
}

FusionTheme make_other_ops() {
  FusionTheme table;
  const std::vector<double> numbers{-3, -1, -0.5, 0.25, 1, 1.5, 2, 7};
#define NUMBER(name, ...) table.push_back(with_number(#name, at::name, numbers, ##__VA_ARGS__))
  NUMBER(mul), NUMBER(div), NUMBER(clamp_min), NUMBER(clamp_max), NUMBER(floor_divide, kJumps);
  NUMBER(remainder, kJumps), NUMBER(fmod, kJumps), NUMBER(eq, kJumps), NUMBER(ne, kJumps);
  NUMBER(lt, kJumps), NUMBER(le, kJumps), NUMBER(gt, kJumps), NUMBER(ge, kJumps), NUMBER(xlogy);
#undef NUMBER
  const auto add = [](const Tensor& t, const at::Scalar& s) { return at::add(t, s); };
  table.push_back(with_number("add_number", add, numbers));
  const auto rsub = [](const Tensor& t, const at::Scalar& s) { return at::rsub(t, s); };
  table.push_back(with_number("rsub_number", rsub, numbers));
  const auto clamp = [](const Tensor& t, const at::Scalar& s) { return at::clamp(t, s, 2); };
  table.push_back(with_number("clamp_to_2", clamp, {-2, -0.5, 0, 1, 3}));
  const auto power = [](const Tensor& t, const at::Scalar& s) { return at::pow(t, s); };
  table.push_back(with_number("pow_number", power, {-2, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3, 4}));
  const auto of_power = [](const Tensor& t, const at::Scalar& s) { return at::pow(s, t); };
  table.push_back(with_number("number_pow", of_power, {0.5, 2, 3}));
  table.push_back(cast({at::kFloat, at::kDouble, at::kBFloat16, at::kHalf}, false));
  table.push_back(cast({at::kLong, at::kInt, at::kShort, at::kChar, at::kByte, at::kBool}, kJumps));
  table.push_back(where());
  table.push_back(where());
  table.push_back(masked_fill());
  table.push_back(ternary("lerp", at::lerp));
  table.push_back(ternary("addcmul", [](const Tensor& a, const Tensor& b, const Tensor& c) {
    return at::addcmul(a, b, c, 0.5);
  }));
  table.push_back(ternary(
      "addcdiv", [](const Tensor& a, const Tensor& b, const Tensor& c) { return at::addcdiv(a, b, c, 2); }));
  table.push_back(ternary(
      "clamp_between", [](const Tensor& a, const Tensor& b, const Tensor& c) { return at::clamp(a, b, c); }));
  return table;
}

}  // namespace

bool is_floating(const Tensor& tensor) { return tensor.is_floating_point(); }

const FusionTheme& fusion_unary_ops() {
  static const FusionTheme table = make_unary_ops();
  return table;
}
const FusionTheme& fusion_binary_ops() {
  static const FusionTheme table = make_binary_ops();
  return table;
}
const FusionTheme& fusion_other_pointwise_ops() {
  static const FusionTheme table = make_other_ops();
  return table;
}

}  // namespace antegrad::fuzz
