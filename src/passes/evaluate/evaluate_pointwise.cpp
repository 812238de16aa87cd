#include <cmath>
#include <type_traits>

#include "passes/evaluate/evaluate.h"

namespace antegrad::passes {
namespace {

/// NaN payloads and, where denormals are flushed, subnormals depend on the kernel that computes them.
template <class T>
bool is_certain(T value) {
  if constexpr (std::is_floating_point_v<T>)
    return !std::isnan(value) && std::fpclassify(value) != FP_SUBNORMAL;
  return true;
}

template <class T>
T wrapping_multiply_add(T a, T scale, T b) {
  using U = std::make_unsigned_t<T>;
  const auto product =
      static_cast<uint64_t>(static_cast<U>(scale)) * static_cast<uint64_t>(static_cast<U>(b));
  return static_cast<T>(static_cast<U>(static_cast<uint64_t>(static_cast<U>(a)) + product));
}

template <class T>
T wrapping_negate(T a) {
  if constexpr (std::is_floating_point_v<T>) {
    return -a;
  } else {
    return wrapping_multiply_add(T{0}, T{-1}, a);
  }
}

/// a + scale * b. Kernels may or may not use a fused multiply-add, so floats are certain only if both results
/// agree.
template <class T>
std::optional<T> multiply_add(T a, T scale, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    const volatile T product = scale * b;
    const T separate = a + product, fused = std::fma(scale, b, a);
    if (!is_certain(separate) || !is_certain(T{product}) || separate != fused ||
        std::signbit(separate) != std::signbit(fused))
      return std::nullopt;
    return separate;
  } else {
    return wrapping_multiply_add(a, scale, b);
  }
}

template <class T>
std::optional<T> add(T a, T b, T alpha) {
  if constexpr (std::is_same_v<T, Bool>) {
    if (alpha != Bool::True) return std::nullopt;
    return a == Bool::True || b == Bool::True ? Bool::True : Bool::False;
  } else {
    return multiply_add(a, alpha, b);
  }
}

template <class T>
std::optional<T> subtract(T a, T b, T alpha) {
  if constexpr (std::is_same_v<T, Bool>) {
    return std::nullopt;
  } else {
    return multiply_add(a, wrapping_negate(alpha), b);
  }
}

template <class T>
std::optional<T> multiply(T a, T b, T) {
  if constexpr (std::is_same_v<T, Bool>) {
    return a == Bool::True && b == Bool::True ? Bool::True : Bool::False;
  } else if constexpr (std::is_floating_point_v<T>) {
    return a * b;
  } else {
    return wrapping_multiply_add(T{0}, a, b);
  }
}

/// The second operand: a tensor of the result's dtype, or a number.
template <class T>
std::optional<Literal> operand(const KnownCall& call, ir::DType dtype) {
  if (const auto* tensor = call.tensor(1)) {
    if (tensor->dtype != dtype) return std::nullopt;
    return *tensor;
  }
  const auto number = number_as<T>(call.arg(1));
  if (!number) return std::nullopt;
  Literal literal{dtype, {}, std::vector<uint8_t>(sizeof(T))};
  literal.set(0, *number);
  return literal;
}

template <class T, class Fn>
std::optional<Literal> combine(const KnownCall& call, const Literal& a, Fn fn) {
  auto result = empty_literal(call.result_type());
  const std::optional<Literal> b = operand<T>(call, a.dtype);
  if (!result || !b || result->dtype != a.dtype) return std::nullopt;
  const auto* given = call.attr("alpha");
  const auto alpha = given == nullptr ? number_as<T>(ir::Arg(1)) : number_as<T>(*given);
  const auto walk_a = Walk::over(a.sizes).broadcast_to(result->sizes);
  const auto walk_b = Walk::over(b->sizes).broadcast_to(result->sizes);
  if (!alpha || !walk_a || !walk_b) return std::nullopt;

  std::vector<T> left, right;
  walk_a->for_each([&](int64_t at) { left.push_back(a.get<T>(at)); });
  walk_b->for_each([&](int64_t at) { right.push_back(b->get<T>(at)); });
  for (size_t i = 0; i < left.size(); ++i) {
    const std::optional<T> value = fn(left[i], right[i], *alpha);
    if (!value || !is_certain(*value) || !is_certain(left[i]) || !is_certain(right[i])) return std::nullopt;
    result->set(static_cast<int64_t>(i), *value);
  }
  return result;
}

template <class Fn>
std::optional<Literal> binary(const KnownCall& call, Fn fn) {
  const auto* a = call.tensor(0);
  std::optional<Literal> result;
  if (a == nullptr) return result;
  with_element_type(a->dtype, [&](auto zero) {
    result = combine<decltype(zero)>(call, *a, fn);
    return true;
  });
  return result;
}

std::optional<Literal> evaluate_add(const KnownCall& call) {
  return binary(call, [](auto a, auto b, auto alpha) { return add(a, b, alpha); });
}

std::optional<Literal> evaluate_sub(const KnownCall& call) {
  return binary(call, [](auto a, auto b, auto alpha) { return subtract(a, b, alpha); });
}

std::optional<Literal> evaluate_mul(const KnownCall& call) {
  return binary(call, [](auto a, auto b, auto alpha) { return multiply(a, b, alpha); });
}

std::optional<Literal> evaluate_neg(const KnownCall& call) {
  const auto* a = call.tensor(0);
  if (a == nullptr) return std::nullopt;
  auto result = *a;
  const bool done = with_element_type(a->dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, Bool>) {
      return false;
    } else {
      for (int64_t i = 0; i < a->numel(); ++i) {
        if (!is_certain(a->get<T>(i))) return false;
        result.set(i, wrapping_negate(a->get<T>(i)));
      }
      return true;
    }
  });
  return done ? std::optional(result) : std::nullopt;
}

template <class To, class From>
std::optional<To> convert_exactly(From value) {
  if constexpr (std::is_same_v<From, To>) return value;
  if constexpr (std::is_same_v<From, Bool>) return number_as<To>(ir::Arg(value == Bool::True));
  if constexpr (std::is_integral_v<From>) return number_as<To>(ir::Arg(static_cast<int64_t>(value)));
  if constexpr (std::is_floating_point_v<From>) {
    if (!is_certain(value)) return std::nullopt;
    const auto converted = number_as<To>(ir::Arg(static_cast<double>(value)));
    if constexpr (std::is_floating_point_v<To>)
      if (!converted || static_cast<double>(*converted) != static_cast<double>(value)) return std::nullopt;
    return converted;
  }
}

std::optional<Literal> evaluate_to_copy(const KnownCall& call) {
  const auto* from = call.tensor(0);
  auto result = empty_literal(call.result_type());
  if (from == nullptr || !result || result->sizes != from->sizes) return std::nullopt;
  const bool done = with_element_type(from->dtype, [&](auto zero_from) {
    return with_element_type(result->dtype, [&](auto zero_to) {
      for (int64_t i = 0; i < from->numel(); ++i) {
        const auto value = convert_exactly<decltype(zero_to)>(from->get<decltype(zero_from)>(i));
        if (!value) return false;
        result->set(i, *value);
      }
      return true;
    });
  });
  return done ? result : std::nullopt;
}

}  // namespace

const std::vector<EvaluatorEntry>& pointwise_evaluators() {
  static const auto& table = *new const std::vector<EvaluatorEntry>{
      {"aten.add.Tensor", evaluate_add}, {"aten.add.Scalar", evaluate_add},
      {"aten.sub.Tensor", evaluate_sub}, {"aten.sub.Scalar", evaluate_sub},
      {"aten.mul.Tensor", evaluate_mul}, {"aten.mul.Scalar", evaluate_mul},
      {"aten.neg", evaluate_neg},        {"aten._to_copy", evaluate_to_copy},
  };
  return table;
}

}  // namespace antegrad::passes
