#pragma once
// The representation of Dim: a polynomial over atoms. Only for code that walks expressions; others use dim.h.
#include <cstddef>
#include <memory>
#include <vector>

#include "ir/dim.h"

namespace antegrad::ir::detail {

/// Limits that keep hostile or runaway expressions from growing without bound. Exceeding them throws
/// Error(InvalidArgument).
inline constexpr int64_t kMaxDimSize = 1000;  ///< nodes of the expression tree
inline constexpr int32_t kMaxDimDepth = 40;   ///< nesting of atoms

enum class AtomKind : uint8_t { Symbol, FloorDiv, Mod, Min, Max };

/// An indivisible part of a polynomial. Operands are canonical; Min and Max have at least two, sorted.
struct Atom {
  AtomKind kind = AtomKind::Symbol;
  int32_t index = 0;          ///< of a Symbol
  std::vector<Dim> operands;  ///< FloorDiv, Mod: dividend and divisor
  size_t hash = 0;
  int64_t size = 1;
  int32_t depth = 1;
  Range range;  ///< valid for all values of the symbols
};
using AtomPtr = std::shared_ptr<const Atom>;

struct Factor {
  AtomPtr atom;
  int32_t power = 1;
};

/// coefficient * product of factors. Factors are sorted, each atom occurs once. The constant term has no
/// factors.
struct Term {
  int64_t coefficient = 0;
  std::vector<Factor> factors;
};

/// A non-constant polynomial: at least one term with a factor, no zero coefficients, each product of atoms
/// once, sorted by descending degree (the constant term is last).
struct DimExpr {
  std::vector<Term> terms;
  size_t hash = 0;
  int64_t size = 0;
  int32_t depth = 0;
  Range range;

  static const DimExpr* of(const Dim& dim) { return dim.expr_.get(); }
  static std::vector<Term> terms_of(const Dim& dim);
  static Dim from_terms(std::vector<Term> terms);  ///< sorts and merges terms, drops zeros
  static Dim from_atom(Atom atom);
};

int compare(const Dim& a, const Dim& b);
int compare(const Atom& a, const Atom& b);
int compare_products(const std::vector<Factor>& a, const std::vector<Factor>& b);

/// Sum, minimum or maximum of many operands, in O(n log n).
Dim sum_of(const std::vector<Dim>& parts);
Dim extremum_of(AtomKind kind, const std::vector<Dim>& operands);

int64_t checked_add(int64_t a, int64_t b);
int64_t checked_mul(int64_t a, int64_t b);
int64_t floor_div_int(int64_t a, int64_t b);  ///< requires b != 0; throws for the one quotient that overflows
int64_t mod_int(int64_t a, int64_t b);        ///< requires b != 0
[[noreturn]] void throw_overflow();

// Interval arithmetic: the limits of int64_t mean "no bound".
Range add(const Range& a, const Range& b);
Range multiply(const Range& a, const Range& b);
Range power(const Range& base, int32_t exponent);
Range atom_range(const Atom& atom, const std::vector<Range>& operands);

/// Returns the range of a polynomial whose atoms have the ranges range_of(Atom).
template <class Fn>
Range polynomial_range(const std::vector<Term>& terms, Fn&& range_of) {
  Range total{0, 0};
  for (const auto& term : terms) {
    Range product{term.coefficient, term.coefficient};
    for (const auto& factor : term.factors)
      product = multiply(product, power(range_of(*factor.atom), factor.power));
    total = add(total, product);
  }
  return total;
}

inline Range free_range(const Dim& dim) {
  if (dim.is_constant()) return {dim.constant(), dim.constant()};
  return DimExpr::of(dim)->range;
}

}  // namespace antegrad::ir::detail
