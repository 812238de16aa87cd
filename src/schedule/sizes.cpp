#include "schedule/sizes.h"

#include <algorithm>

#include "ir/dim_expr.h"

namespace antegrad::schedule {
namespace {

using ir::detail::DimExpr;
using ir::detail::Term;

/// Returns a / b when the factors of b are among those of a.
std::optional<Term> divided(Term a, const Term& b) {
  if (a.coefficient % b.coefficient != 0) return std::nullopt;
  a.coefficient /= b.coefficient;
  for (const auto& factor : b.factors) {
    const auto found = std::ranges::find_if(
        a.factors, [&](const auto& other) { return ir::detail::compare(*other.atom, *factor.atom) == 0; });
    if (found == a.factors.end() || found->power < factor.power) return std::nullopt;
    found->power -= factor.power;
    if (found->power == 0) a.factors.erase(found);
  }
  return a;
}

ir::Range range_of_symbol(const ir::Graph& graph, int32_t symbol) {
  auto range = graph.symbols[symbol].range;
  range.lower = std::max<int64_t>(range.lower, 1);
  return range;
}

}  // namespace

std::optional<ir::Dim> divided(const ir::Dim& a, const ir::Dim& b) {
  constexpr int kMostSteps = 16;
  if (b.is(0)) return std::nullopt;
  const auto divisor = DimExpr::terms_of(b).front();
  ir::Dim rest = a, quotient = 0;
  for (int step = 0; !rest.is(0); ++step) {
    const auto term = divided(DimExpr::terms_of(rest).front(), divisor);
    if (!term || step == kMostSteps) return std::nullopt;
    const auto part = DimExpr::from_terms({*term});
    quotient = quotient + part;
    rest = rest - part * b;
  }
  return quotient;
}

ir::Range range_of(const ir::Graph& graph, const ir::Dim& dim) {
  return dim.bounds([&](int32_t symbol) { return range_of_symbol(graph, symbol); });
}

bool is_at_least(const ir::Graph& graph, const ir::Dim& dim, int64_t least) {
  return range_of(graph, dim).lower >= least;
}

int64_t likely_stride(const ir::Graph& graph, const ir::Dim& stride) {
  if (stride.is_constant()) return stride.constant();
  return stride.evaluate([&](int32_t symbol) {
    const auto likely = graph.hint_of(ir::Dim::symbol(symbol));
    return std::max<int64_t>(likely, 2);
  });
}

}  // namespace antegrad::schedule
