// Floor division, modulo, minimum and maximum. Each rule holds for all integers, not only for positive sizes.
#include <algorithm>
#include <map>
#include <numeric>

#include "antegrad/error.h"
#include "ir/dim_expr.h"

namespace antegrad::ir {
namespace detail {
namespace {

Dim make_atom(AtomKind kind, std::vector<Dim> operands) {
  Atom atom;
  atom.kind = kind;
  atom.operands = std::move(operands);
  return DimExpr::from_atom(std::move(atom));
}

/// Returns the atom if the term has the form c * atom with an atom of this kind, otherwise null.
const Atom* single_atom(const Term& term, AtomKind kind) {
  if (term.factors.size() != 1 || term.factors[0].power != 1) return nullptr;
  const Atom* atom = term.factors[0].atom.get();
  return atom->kind == kind ? atom : nullptr;
}

/// dividend = quotient * divisor + rest, with the coefficients of rest in [0, divisor).
struct Split {
  std::vector<Term> quotient, rest;
};

Split split_terms(const std::vector<Term>& terms, int64_t divisor) {
  Split out;
  for (const auto& term : terms) {
    const int64_t quotient = floor_div_int(term.coefficient, divisor);
    const int64_t rest = mod_int(term.coefficient, divisor);
    if (quotient != 0) out.quotient.push_back({quotient, term.factors});
    if (rest != 0) out.rest.push_back({rest, term.factors});
  }
  return out;
}

/// The greatest common divisor of the divisor and all coefficients except that of the constant term.
int64_t common_factor(const std::vector<Term>& terms, int64_t divisor) {
  for (const auto& term : terms)
    if (!term.factors.empty()) divisor = std::gcd(divisor, term.coefficient);
  return divisor;
}

/// Returns terms / factor with the constant term rounded down; `lost` is its remainder.
std::vector<Term> divide_terms(std::vector<Term> terms, int64_t factor, int64_t& lost) {
  lost = 0;
  for (auto& term : terms) {
    if (term.factors.empty()) lost = mod_int(term.coefficient, factor);
    term.coefficient = floor_div_int(term.coefficient, factor);
  }
  return terms;
}

/// floor_div(floor_div(x, m) + y, n) = floor_div(x + y * m, m * n).
bool flatten_division(std::vector<Term>& terms, int64_t& divisor) {
  for (size_t i = 0; i < terms.size(); ++i) {
    const Atom* inner = terms[i].coefficient == 1 ? single_atom(terms[i], AtomKind::FloorDiv) : nullptr;
    if (!inner || !inner->operands[1].is_constant() || inner->operands[1].constant() <= 0) continue;
    const int64_t m = inner->operands[1].constant();
    int64_t product = 0;
    if (__builtin_mul_overflow(m, divisor, &product)) continue;
    const Dim dividend = inner->operands[0];
    terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(i));
    terms = DimExpr::terms_of(dividend + DimExpr::from_terms(std::move(terms)) * Dim(m));
    divisor = product;
    return true;
  }
  return false;
}

/// c * mod(x, m) = c * x modulo any divisor of c * m.
bool drop_inner_mods(std::vector<Term>& terms, int64_t divisor) {
  bool changed = false;
  std::vector<Dim> parts;
  for (const auto& term : terms) {
    const Atom* inner = single_atom(term, AtomKind::Mod);
    int64_t period = 0;
    if (inner && inner->operands[1].is_constant() &&
        !__builtin_mul_overflow(term.coefficient, inner->operands[1].constant(), &period) &&
        period % divisor == 0) {
      parts.push_back(inner->operands[0] * Dim(term.coefficient));
      changed = true;
    } else {
      parts.push_back(DimExpr::from_terms({term}));
    }
  }
  if (changed) terms = DimExpr::terms_of(sum_of(parts));
  return changed;
}

bool bounded(const Range& range) {
  return range.lower != std::numeric_limits<int64_t>::min() &&
         range.upper != std::numeric_limits<int64_t>::max();
}

Dim floor_div_by(std::vector<Term> terms, int64_t divisor) {
  if (divisor < 0) {
    const Dim negated = DimExpr::from_terms(std::move(terms)) * Dim(-1);
    terms = DimExpr::terms_of(negated);
    divisor = checked_mul(divisor, -1);
  }
  std::vector<Dim> whole;
  for (;;) {
    auto split = split_terms(terms, divisor);
    whole.push_back(DimExpr::from_terms(std::move(split.quotient)));
    const int64_t factor = common_factor(split.rest, divisor);
    int64_t lost = 0;
    terms = divide_terms(std::move(split.rest), factor, lost);
    divisor /= factor;
    if (divisor == 1) {
      whole.push_back(DimExpr::from_terms(std::move(terms)));
      return sum_of(whole);
    }
    if (!flatten_division(terms, divisor)) break;
  }
  const Dim rest = DimExpr::from_terms(std::move(terms));
  const Range range = free_range(rest);
  if (bounded(range) && floor_div_int(range.lower, divisor) == floor_div_int(range.upper, divisor)) {
    whole.push_back(Dim(floor_div_int(range.lower, divisor)));
  } else {
    whole.push_back(make_atom(AtomKind::FloorDiv, {rest, Dim(divisor)}));
  }
  return sum_of(whole);
}

Dim mod_by(const std::vector<Term>& dividend, int64_t divisor) {
  if (divisor < 0) {
    const Dim negated = DimExpr::from_terms(dividend) * Dim(-1);
    return mod_by(DimExpr::terms_of(negated), checked_mul(divisor, -1)) * Dim(-1);
  }
  std::vector<Term> terms = split_terms(dividend, divisor).rest;
  while (drop_inner_mods(terms, divisor)) terms = split_terms(terms, divisor).rest;
  const int64_t factor = common_factor(terms, divisor);
  int64_t lost = 0;
  terms = divide_terms(std::move(terms), factor, lost);
  divisor /= factor;
  if (divisor == 1) return lost;
  const Dim rest = DimExpr::from_terms(std::move(terms));
  const Range range = free_range(rest);
  if (bounded(range) && floor_div_int(range.lower, divisor) == floor_div_int(range.upper, divisor))
    return (rest - Dim(floor_div_int(range.lower, divisor)) * Dim(divisor)) * Dim(factor) + Dim(lost);
  // Taking out a factor may make an inner modulo droppable.
  if (factor > 1) return mod_by(DimExpr::terms_of(rest), divisor) * Dim(factor) + Dim(lost);
  return make_atom(AtomKind::Mod, {rest, Dim(divisor)}) + Dim(lost);
}

void check_divisor(const Dim& divisor) {
  if (divisor.is_constant() && divisor.constant() == 0)
    throw Error(ErrorCode::InvalidArgument, "dim", "a size expression divides by zero");
}

void flatten(AtomKind kind, const Dim& operand, std::vector<Dim>& out) {
  const auto* expr = DimExpr::of(operand);
  if (expr && expr->terms.size() == 1 && expr->terms[0].coefficient == 1) {
    if (const Atom* atom = single_atom(expr->terms[0], kind)) {
      out.insert(out.end(), atom->operands.begin(), atom->operands.end());
      return;
    }
  }
  out.push_back(operand);
}

/// Among operands that differ by a constant, only the smallest (largest) can be the minimum (maximum).
std::vector<Dim> best_of_each_shape(AtomKind kind, const std::vector<Dim>& operands) {
  std::map<Dim, int64_t> best;
  for (const auto& operand : operands) {
    auto terms = DimExpr::terms_of(operand);
    int64_t constant = 0;
    if (!terms.empty() && terms.back().factors.empty()) {
      constant = terms.back().coefficient;
      terms.pop_back();
    }
    const auto [at, added] = best.emplace(DimExpr::from_terms(std::move(terms)), constant);
    if (!added)
      at->second = kind == AtomKind::Min ? std::min(at->second, constant) : std::max(at->second, constant);
  }
  std::vector<Dim> out;
  for (const auto& [shape, constant] : best) out.push_back(shape + Dim(constant));
  std::sort(out.begin(), out.end());
  return out;
}

/// Drops operands that can never be the extremum, by their ranges.
std::vector<Dim> drop_dominated(AtomKind kind, const std::vector<Dim>& operands) {
  const bool is_min = kind == AtomKind::Min;
  const auto inner = [&](const Dim& d) { return is_min ? free_range(d).upper : free_range(d).lower; };
  const auto outer = [&](const Dim& d) { return is_min ? free_range(d).lower : free_range(d).upper; };
  const int64_t no_bound = is_min ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
  const auto beats = [&](const Dim& a, const Dim& b) {
    if (inner(a) == inner(b)) return is_min ? outer(a) < outer(b) : outer(a) > outer(b);
    return is_min ? inner(a) < inner(b) : inner(a) > inner(b);
  };
  size_t winner = 0;
  for (size_t i = 1; i < operands.size(); ++i)
    if (beats(operands[i], operands[winner])) winner = i;
  const int64_t limit = inner(operands[winner]);
  if (limit == no_bound) return operands;
  std::vector<Dim> out;
  for (size_t i = 0; i < operands.size(); ++i)
    if (i == winner || (is_min ? outer(operands[i]) < limit : outer(operands[i]) > limit))
      out.push_back(operands[i]);
  return out;
}

}  // namespace

Dim extremum_of(AtomKind kind, const std::vector<Dim>& operands) {
  std::vector<Dim> flat;
  for (const auto& operand : operands) flatten(kind, operand, flat);
  flat = drop_dominated(kind, best_of_each_shape(kind, flat));
  return flat.size() == 1 ? flat[0] : make_atom(kind, std::move(flat));
}

}  // namespace detail

using detail::DimExpr;

Dim floor_div(const Dim& a, const Dim& b) {
  detail::check_divisor(b);
  if (!b.is_constant()) return detail::make_atom(detail::AtomKind::FloorDiv, {a, b});
  if (a.is_constant()) return detail::floor_div_int(a.constant(), b.constant());
  return detail::floor_div_by(DimExpr::terms_of(a), b.constant());
}

Dim mod(const Dim& a, const Dim& b) {
  detail::check_divisor(b);
  if (!b.is_constant()) return detail::make_atom(detail::AtomKind::Mod, {a, b});
  if (a.is_constant()) return detail::mod_int(a.constant(), b.constant());
  return detail::mod_by(DimExpr::terms_of(a), b.constant());
}

Dim min(const Dim& a, const Dim& b) { return detail::extremum_of(detail::AtomKind::Min, {a, b}); }
Dim max(const Dim& a, const Dim& b) { return detail::extremum_of(detail::AtomKind::Max, {a, b}); }

}  // namespace antegrad::ir
