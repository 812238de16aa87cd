// Interval arithmetic. The limits of int64_t mean "no bound"; results out of range saturate to them.
#include <algorithm>

#include "ir/dim_expr.h"

namespace antegrad::ir::detail {
namespace {

constexpr int64_t kLow = std::numeric_limits<int64_t>::min();
constexpr int64_t kHigh = std::numeric_limits<int64_t>::max();
constexpr Range kAll{kLow, kHigh};

int64_t saturate(__int128 value) {
  return value < kLow ? kLow : value > kHigh ? kHigh : static_cast<int64_t>(value);
}

/// A product in which the limits count as infinite and 0 * infinity is 0.
int64_t product(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  const bool infinite = a == kLow || a == kHigh || b == kLow || b == kHigh;
  if (infinite) return (a < 0) != (b < 0) ? kLow : kHigh;
  return saturate(static_cast<__int128>(a) * b);
}

Range negate(const Range& r) {
  const auto flip = [](int64_t v) { return v == kLow ? kHigh : v == kHigh ? kLow : -v; };
  return {flip(r.upper), flip(r.lower)};
}

Range unite(const Range& a, const Range& b) {
  return {std::min(a.lower, b.lower), std::max(a.upper, b.upper)};
}

/// floor(a / b) for b >= 1. An infinite a stays infinite; an infinite b gives 0 or -1.
int64_t quotient(int64_t a, int64_t b) {
  if (b == kHigh) return a < 0 ? -1 : 0;
  if (a == kLow || a == kHigh) return a;
  return floor_div_int(a, b);
}

Range divide_by_positive(const Range& a, const Range& b) {
  return {quotient(a.lower, a.lower >= 0 ? b.upper : b.lower),
          quotient(a.upper, a.upper >= 0 ? b.lower : b.upper)};
}

Range floor_div_range(const Range& a, const Range& b) {
  std::optional<Range> out;
  if (b.upper >= 1) out = divide_by_positive(a, {std::max<int64_t>(b.lower, 1), b.upper});
  if (b.lower <= -1) {
    const Range flipped = negate({b.lower, std::min<int64_t>(b.upper, -1)});
    const Range other = divide_by_positive(negate(a), flipped);
    out = out ? unite(*out, other) : other;
  }
  return out.value_or(kAll);
}

Range mod_range(const Range& a, const Range& b) {
  if (b.lower >= 1 && a.lower >= 0 && a.upper < b.lower) return a;
  Range out{0, 0};
  if (b.upper >= 1) out.upper = b.upper == kHigh ? kHigh : b.upper - 1;
  if (b.lower <= -1) out.lower = b.lower == kLow ? kLow : b.lower + 1;
  if (b.lower >= 1 && a.lower >= 0) out.upper = std::min(out.upper, a.upper);
  return out;
}

Range range_in(const Dim& dim, const std::function<Range(int32_t)>& range_of);

Range range_in(const Atom& atom, const std::function<Range(int32_t)>& range_of) {
  if (atom.kind == AtomKind::Symbol) return range_of(atom.index);
  std::vector<Range> operands;
  for (const auto& operand : atom.operands) operands.push_back(range_in(operand, range_of));
  return atom_range(atom, operands);
}

Range range_in(const Dim& dim, const std::function<Range(int32_t)>& range_of) {
  if (dim.is_constant()) return {dim.constant(), dim.constant()};
  return polynomial_range(DimExpr::of(dim)->terms,
                          [&](const Atom& atom) { return range_in(atom, range_of); });
}

}  // namespace

Range add(const Range& a, const Range& b) {
  Range out = kAll;
  if (a.lower != kLow && b.lower != kLow) out.lower = saturate(static_cast<__int128>(a.lower) + b.lower);
  if (a.upper != kHigh && b.upper != kHigh) out.upper = saturate(static_cast<__int128>(a.upper) + b.upper);
  return out;
}

Range multiply(const Range& a, const Range& b) {
  const auto corners = {product(a.lower, b.lower), product(a.lower, b.upper), product(a.upper, b.lower),
                        product(a.upper, b.upper)};
  return {std::min(corners), std::max(corners)};
}

Range power(const Range& base, int32_t exponent) {
  Range out = base;
  if (exponent % 2 == 0) {
    const Range mirrored = negate(base);
    const bool has_zero = base.lower <= 0 && base.upper >= 0;
    out = {has_zero ? 0 : std::max(base.lower, mirrored.lower), std::max(base.upper, mirrored.upper)};
  }
  const Range step = out;
  // Beyond 63 factors every bound other than -1, 0 and 1 has saturated, so that further steps change only the
  // sign.
  const int32_t steps = exponent <= 64 ? exponent : 64 + exponent % 2;
  for (int32_t i = 1; i < steps; ++i) out = multiply(out, step);
  return out;
}

Range atom_range(const Atom& atom, const std::vector<Range>& operands) {
  switch (atom.kind) {
    case AtomKind::Symbol:
      return kAll;
    case AtomKind::FloorDiv:
      return floor_div_range(operands[0], operands[1]);
    case AtomKind::Mod:
      return mod_range(operands[0], operands[1]);
    case AtomKind::Min:
    case AtomKind::Max:
      break;
  }
  Range out = operands[0];
  for (const auto& r : operands) {
    if (atom.kind == AtomKind::Min)
      out = {std::min(out.lower, r.lower), std::min(out.upper, r.upper)};
    else
      out = {std::max(out.lower, r.lower), std::max(out.upper, r.upper)};
  }
  return out;
}

}  // namespace antegrad::ir::detail

namespace antegrad::ir {

Range Dim::bounds(const std::function<Range(int32_t)>& range_of) const {
  return detail::range_in(*this, range_of);
}

}  // namespace antegrad::ir
