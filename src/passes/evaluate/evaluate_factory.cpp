#include <cstdlib>

#include "passes/evaluate/evaluate.h"

namespace antegrad::passes {
namespace {

std::optional<Literal> filled(const KnownCall& call, const ir::Arg& number) {
  auto result = empty_literal(call.result_type());
  if (!result) return std::nullopt;
  const bool done = with_element_type(result->dtype, [&](auto zero) {
    const auto value = number_as<decltype(zero)>(number);
    for (int64_t i = 0; value && i < result->numel(); ++i) result->set(i, *value);
    return value.has_value();
  });
  return done ? result : std::nullopt;
}

std::optional<Literal> evaluate_zeros(const KnownCall& call) { return filled(call, ir::Arg(0)); }
std::optional<Literal> evaluate_ones(const KnownCall& call) { return filled(call, ir::Arg(1)); }
std::optional<Literal> evaluate_scalar_tensor(const KnownCall& call) { return filled(call, call.arg(0)); }
std::optional<Literal> evaluate_full(const KnownCall& call) { return filled(call, call.arg(1)); }
std::optional<Literal> evaluate_new_full(const KnownCall& call) { return filled(call, call.arg(2)); }

/// Integers well within the exact range of float, so that every way to compute start + i * step gives the
/// same result.
std::optional<int64_t> small_integer(const ir::Arg& arg) {
  const auto value = number_as<int64_t>(arg);
  if (!value || std::abs(*value) > (1 << 20)) return std::nullopt;
  return value;
}

std::optional<Literal> arange(const KnownCall& call, const ir::Arg& start, const ir::Arg& end,
                              const ir::Arg& step) {
  auto result = empty_literal(call.result_type());
  const auto first = small_integer(start), last = small_integer(end), stride = small_integer(step);
  if (!result || result->sizes.size() != 1 || !first || !last || !stride || *stride == 0) return std::nullopt;
  const auto span = (*last - *first) * (*stride < 0 ? -1 : 1);
  const auto count = span < 0 ? -1 : (span + std::abs(*stride) - 1) / std::abs(*stride);
  if (count != result->sizes[0]) return std::nullopt;
  const bool done = with_element_type(result->dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, Bool>) {
      return false;
    } else {
      for (int64_t i = 0; i < count; ++i) result->set(i, static_cast<T>(*first + i * *stride));
      return true;
    }
  });
  return done ? result : std::nullopt;
}

std::optional<Literal> evaluate_arange(const KnownCall& call) {
  return arange(call, ir::Arg(0), call.arg(0), ir::Arg(1));
}
std::optional<Literal> evaluate_arange_start(const KnownCall& call) {
  return arange(call, call.arg(0), call.arg(1), ir::Arg(1));
}
std::optional<Literal> evaluate_arange_step(const KnownCall& call) {
  const auto& step = call.arg(2);
  return arange(call, call.arg(0), call.arg(1), step.as<ir::None>() != nullptr ? ir::Arg(1) : step);
}

}  // namespace

const std::vector<EvaluatorEntry>& factory_evaluators() {
  static const auto& table = *new const std::vector<EvaluatorEntry>{
      {"aten.zeros", evaluate_zeros},
      {"aten.zeros_like", evaluate_zeros},
      {"aten.new_zeros", evaluate_zeros},
      {"aten.ones", evaluate_ones},
      {"aten.ones_like", evaluate_ones},
      {"aten.new_ones", evaluate_ones},
      {"aten.full", evaluate_full},
      {"aten.full_like", evaluate_full},
      {"aten.new_full", evaluate_new_full},
      {"aten.fill.Scalar", evaluate_full},
      {"aten.scalar_tensor", evaluate_scalar_tensor},
      {"aten.arange", evaluate_arange},
      {"aten.arange.start", evaluate_arange_start},
      {"aten.arange.start_step", evaluate_arange_step},
  };
  return table;
}

}  // namespace antegrad::passes
