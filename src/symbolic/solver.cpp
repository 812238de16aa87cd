#include "symbolic/solver.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace antegrad::symbolic {
namespace {

using ir::Dim;
using ir::Real;

constexpr size_t kPairs = 48;            ///< number of known expressions that are combined pairwise
constexpr int64_t kLargestDivisor = 64;  ///< of floor divisions that are searched for
constexpr int64_t kLargestFraction = 10;

bool all_equal(const Samples& values) {
  return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == values[0]; });
}

/// Returns f(i) if it is the same for all samples.
template <class F>
std::optional<int64_t> same_for_all(size_t samples, const F& f) {
  const std::optional<int64_t> first = f(0);
  for (size_t i = 1; first && i < samples; ++i)
    if (f(i) != first) return std::nullopt;
  return first;
}

std::optional<int64_t> exact_quotient(int64_t a, int64_t b) {
  if (b == 0 || a % b != 0) return std::nullopt;
  return a / b;
}

std::optional<int64_t> exact_quotient(int64_t a, int64_t b, int64_t c) {
  int64_t product = 0;
  if (__builtin_mul_overflow(b, c, &product)) return std::nullopt;
  return exact_quotient(a, product);
}

/// Makes a divisor positive: one that is 0 at some sizes must not divide by zero there.
Dim at_least_one(const Dim& dim) {
  const auto bounds = dim.bounds([](int32_t) { return ir::Range{1, ir::Range{}.upper}; });
  return bounds.lower >= 1 ? dim : max(dim, Dim(1));
}

/// Solves for the coefficients of 1, s0, s1, … by Gaussian elimination. Returns nothing unless they are
/// determined and integers.
std::optional<std::vector<int64_t>> integer_coefficients(std::vector<std::vector<double>> rows) {
  const size_t unknowns = rows[0].size() - 1;
  for (size_t c = 0; c < unknowns; ++c) {
    size_t pivot = c;
    for (size_t r = c; r < rows.size(); ++r)
      if (std::abs(rows[r][c]) > std::abs(rows[pivot][c])) pivot = r;
    if (std::abs(rows[pivot][c]) < 1e-9) return std::nullopt;
    std::swap(rows[c], rows[pivot]);
    for (size_t r = 0; r < rows.size(); ++r) {
      if (r == c) continue;
      const double factor = rows[r][c] / rows[c][c];
      for (size_t k = c; k <= unknowns; ++k) rows[r][k] -= factor * rows[c][k];
    }
  }
  std::vector<int64_t> out;
  for (size_t c = 0; c < unknowns; ++c) {
    const double value = rows[c][unknowns] / rows[c][c];
    if (!(std::abs(value) < 1e12) || std::abs(value - std::round(value)) > 1e-4) return std::nullopt;
    out.push_back(static_cast<int64_t>(std::llround(value)));
  }
  return out;
}

/// Candidates for the exact factor, given a computed one that is subject to rounding; the likeliest first.
std::vector<double> likely_factors(double factor) {
  std::vector<double> out{factor};
  if (std::abs(factor) < 1e15) out.push_back(std::round(factor));
  if (factor != 0) out.push_back(1 / std::round(1 / factor));
  for (double digits : {10.0, 1e3, 1e6}) out.push_back(std::round(factor * digits) / digits);
  return out;
}

/// The factor for which a number has this form with `dim`.
double factor_of(Real::Form form, double value, double dim) {
  switch (form) {
    case Real::Form::Times:
      return value / dim;
    case Real::Form::Over:
      return value * dim;
    case Real::Form::TimesSqrt:
      return value / std::sqrt(dim);
    case Real::Form::OverSqrt:
      return value * std::sqrt(dim);
    case Real::Form::Number:
      break;  // has no dim to be solved for
  }
  return 0;
}

/// The dim for which a number has this form with `scale`.
double inverse(Real::Form form, double scale, double value) {
  switch (form) {
    case Real::Form::Times:
      return value / scale;
    case Real::Form::Over:
      return scale / value;
    case Real::Form::TimesSqrt:
      return (value / scale) * (value / scale);
    case Real::Form::OverSqrt:
      return (scale / value) * (scale / value);
    case Real::Form::Number:
      break;
  }
  return 0;
}

}  // namespace

Solver::Solver(const std::vector<std::vector<int64_t>>& assignments) : assignments_(assignments) {
  for (size_t s = 0; s < assignments_[0].size(); ++s) learn(Dim::symbol(static_cast<int32_t>(s)));
}

Samples Solver::values_of(const Dim& dim) const {
  Samples values;
  for (const auto& assignment : assignments_)
    values.push_back(dim.evaluate([&](int32_t s) { return assignment[s]; }));
  return values;
}

void Solver::learn(const Dim& dim) {
  if (dim.is_constant()) return;
  auto values = values_of(dim);
  if (all_equal(values) || !by_values_.try_emplace(values, known_.size()).second) return;
  known_.push_back({dim, std::move(values)});
}

std::optional<Dim> Solver::solve(const Samples& values) {
  if (all_equal(values)) return Dim(values[0]);
  if (auto found = known(values)) return found;
  for (auto form : {&Solver::of_one, &Solver::linear, &Solver::of_two, &Solver::multiple, &Solver::of_product,
                    &Solver::quotient, &Solver::clipped}) {
    const auto found = (this->*form)(values);
    if (!found || values_of(*found) != values) continue;
    learn(*found);
    return found;
  }
  return std::nullopt;
}

std::optional<Dim> Solver::known(const Samples& values) const {
  const auto found = by_values_.find(values);
  if (found == by_values_.end()) return std::nullopt;
  return known_[found->second].dim;
}

/// a + c, a * c, a / c, with a constant c
std::optional<Dim> Solver::of_one(const Samples& values) {
  for (const auto& a : known_) {
    const auto more = same_for_all(samples(), [&](size_t i) { return values[i] - a.values[i]; });
    if (more) return a.dim + Dim(*more);
    const auto times =
        same_for_all(samples(), [&](size_t i) { return exact_quotient(values[i], a.values[i]); });
    if (times) return a.dim * Dim(*times);
    const auto parts =
        same_for_all(samples(), [&](size_t i) { return exact_quotient(a.values[i], values[i]); });
    if (parts) return floor_div(a.dim, Dim(*parts));
  }
  return std::nullopt;
}

/// c0 + c1 * s0 + c2 * s1 + …, if there are enough samples to determine it.
std::optional<Dim> Solver::linear(const Samples& values) {
  const auto symbols = assignments_[0].size();
  if (samples() < symbols + 2) return std::nullopt;
  std::vector<std::vector<double>> rows;
  for (size_t i = 0; i < samples(); ++i) {
    std::vector<double> row{1};
    for (auto value : assignments_[i]) row.push_back(static_cast<double>(value));
    row.push_back(static_cast<double>(values[i]));
    rows.push_back(std::move(row));
  }
  const auto coefficients = integer_coefficients(std::move(rows));
  if (!coefficients) return std::nullopt;
  Dim out = (*coefficients)[0];
  for (size_t s = 0; s < symbols; ++s)
    out = out + Dim((*coefficients)[s + 1]) * Dim::symbol(static_cast<int32_t>(s));
  return out;
}

/// a * b * c, a + b + c, a - b + c, a / b, with a constant c
std::optional<Dim> Solver::of_two(const Samples& values) {
  const auto count = std::min(known_.size(), kPairs);
  for (size_t x = 0; x < count; ++x) {
    for (size_t y = 0; y < count; ++y) {
      const auto& a = known_[x];
      const auto& b = known_[y];
      if (x <= y) {
        const auto times = same_for_all(
            samples(), [&](size_t i) { return exact_quotient(values[i], a.values[i], b.values[i]); });
        if (times) return a.dim * b.dim * Dim(*times);
        const auto more =
            same_for_all(samples(), [&](size_t i) { return values[i] - a.values[i] - b.values[i]; });
        if (more) return a.dim + b.dim + Dim(*more);
      }
      const auto rest =
          same_for_all(samples(), [&](size_t i) { return values[i] - a.values[i] + b.values[i]; });
      if (rest) return a.dim - b.dim + Dim(*rest);
      const auto whole = same_for_all(samples(), [&](size_t i) -> std::optional<int64_t> {
        return b.values[i] > 0 && a.values[i] / b.values[i] == values[i] ? std::optional<int64_t>(0)
                                                                         : std::nullopt;
      });
      if (whole) return floor_div(a.dim, at_least_one(b.dim));
    }
  }
  return std::nullopt;
}

/// c * a * b + d, with constants c and d, which the first two samples determine.
std::optional<Dim> Solver::of_product(const Samples& values) {
  const auto count = std::min(known_.size(), kPairs);
  for (size_t x = 0; x < count; ++x)
    for (size_t y = 0; y <= x; ++y) {
      Samples products;
      for (size_t i = 0; i < samples(); ++i) {
        int64_t product = 0;
        if (__builtin_mul_overflow(known_[x].values[i], known_[y].values[i], &product)) break;
        products.push_back(product);
      }
      if (products.size() < samples()) continue;
      const auto factor = exact_quotient(values[1] - values[0], products[1] - products[0]);
      if (!factor || *factor == 0) continue;
      const auto rest = same_for_all(samples(), [&](size_t i) { return values[i] - *factor * products[i]; });
      if (rest) return Dim(*factor) * known_[x].dim * known_[y].dim + Dim(*rest);
    }
  return std::nullopt;
}

/// Values rounded up or down to a multiple, as for padding.
std::optional<Dim> Solver::multiple(const Samples& values) {
  int64_t divisor = 0;
  for (auto value : values) divisor = std::gcd(divisor, value);
  if (divisor <= 1) return std::nullopt;
  auto parts = values;
  for (auto& part : parts) part /= divisor;
  for (const auto& a : known_)
    if (const auto c = rounding(parts, a, 1, divisor)) return Dim(divisor) * guess(a.dim + Dim(*c), divisor);
  const auto found = solve(parts);
  return found ? std::optional<Dim>(*found * Dim(divisor)) : std::nullopt;
}

/// Returns c such that the values are floor((p * a + c) / q). Prefers a c that rounds down or up.
std::optional<int64_t> Solver::rounding(const Samples& values, const Known& a, int64_t p, int64_t q) const {
  int64_t lower = std::numeric_limits<int64_t>::min();
  int64_t upper = std::numeric_limits<int64_t>::max();
  for (size_t i = 0; i < samples(); ++i) {
    const auto rest = q * values[i] - p * a.values[i];
    lower = std::max(lower, rest);
    upper = std::min(upper, rest + q - 1);
  }
  if (lower > upper) return std::nullopt;
  for (auto natural : {int64_t{0}, q - 1, int64_t{-1}, int64_t{1}})
    if (lower <= natural && natural <= upper) return natural;
  return lower;
}

/// Returns a quotient that fits the samples, though others would, too.
Dim Solver::guess(const Dim& dividend, int64_t divisor) {
  guesses_ = true;
  return floor_div(dividend, Dim(divisor));
}

/// floor((a + c) / q), as in convolutions and chunks; floor((p * a + c) / q), as in n - n / 4.
std::optional<Dim> Solver::quotient(const Samples& values) {
  for (const auto& a : known_)
    for (int64_t q = 2; q <= kLargestDivisor; ++q)
      if (const auto c = rounding(values, a, 1, q)) return guess(a.dim + Dim(*c), q);
  for (const auto& a : known_)
    for (int64_t q = 3; q <= kLargestFraction; ++q)
      for (int64_t p = 2; p < q; ++p)
        if (const auto c = std::gcd(p, q) == 1 ? rounding(values, a, p, q) : std::nullopt)
          return guess(Dim(p) * a.dim + Dim(*c), q);
  return std::nullopt;
}

/// min(a, b), max(a, b), where b may be constant, and a mod k.
std::optional<Dim> Solver::clipped(const Samples& values) {
  guesses_ = true;
  const auto count = std::min(known_.size(), kPairs);
  const auto try_pair = [&](const Known& a, const Dim& b) -> std::optional<Dim> {
    for (const auto& form : {min(a.dim, b), max(a.dim, b)})
      if (values_of(form) == values) return form;
    return std::nullopt;
  };
  for (size_t x = 0; x < count; ++x) {
    for (auto bound :
         {*std::min_element(values.begin(), values.end()), *std::max_element(values.begin(), values.end())})
      if (auto found = try_pair(known_[x], Dim(bound))) return found;
    for (size_t y = 0; y < x; ++y)
      if (auto found = try_pair(known_[x], known_[y].dim)) return found;
    for (int64_t k = 2; k <= kLargestDivisor; ++k)
      if (const auto form = mod(known_[x].dim, Dim(k)); values_of(form) == values) return form;
  }
  return std::nullopt;
}

bool Solver::fits(const Real& real, const std::vector<double>& values) const {
  for (size_t i = 0; i < samples(); ++i)
    if (real.evaluate([&](int32_t s) { return assignments_[i][s]; }) != values[i]) return false;
  return true;
}

/// A form of a known expression, with a factor determined by the first sample.
std::optional<Real> Solver::of_known(Real::Form form, const std::vector<double>& values) const {
  for (const auto& a : known_)
    for (auto scale : likely_factors(factor_of(form, values[0], static_cast<double>(a.values[0]))))
      if (Real real{form, scale, a.dim}; fits(real, values)) return real;
  return std::nullopt;
}

/// A form of a new expression, with a common factor.
std::optional<Real> Solver::of_new(Real::Form form, const std::vector<double>& values) {
  for (double scale : {1.0, 2.0, 0.5, -1.0, -2.0, 3.0, 4.0}) {
    Samples integers;
    for (auto value : values) {
      const auto integer = inverse(form, scale, value);
      if (!(std::abs(integer) < 1e15) || std::abs(integer - std::round(integer)) > 1e-9 * std::abs(integer))
        break;
      integers.push_back(std::llround(integer));
    }
    if (integers.size() != values.size()) continue;
    if (const auto dim = solve(integers))
      if (Real real{form, scale, *dim}; !dim->is_constant() && fits(real, values)) return real;
  }
  return std::nullopt;
}

std::optional<Real> Solver::solve(const std::vector<double>& values) {
  constexpr Real::Form kForms[] = {Real::Form::Times, Real::Form::Over, Real::Form::TimesSqrt,
                                   Real::Form::OverSqrt};
  for (auto form : kForms)
    if (auto found = of_known(form, values)) return found;
  for (auto form : kForms)
    if (auto found = of_new(form, values)) return found;
  return std::nullopt;
}

}  // namespace antegrad::symbolic
