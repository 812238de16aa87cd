#include "ir/dim.h"

#include <fmt/format.h>

#include <algorithm>

#include "antegrad/error.h"
#include "ir/dim_expr.h"

namespace antegrad::ir {
namespace detail {
namespace {

void mix(size_t& hash, uint64_t value) {
  value *= 0x9e3779b97f4a7c15u;
  hash = (hash ^ (value ^ (value >> 29))) * 0xbf58476d1ce4e5b9u;
  hash ^= hash >> 31;
}

int three_way(int64_t a, int64_t b) { return a < b ? -1 : a > b ? 1 : 0; }

int64_t degree(const std::vector<Factor>& factors) {
  int64_t total = 0;
  for (const auto& factor : factors) total += factor.power;
  return total;
}

void check_limits(int64_t size, int32_t depth) {
  if (size > kMaxDimSize || depth > kMaxDimDepth)
    throw Error(ErrorCode::InvalidArgument, "dim",
                fmt::format("a size expression has {} nodes at depth {}, allowed are {} and {}", size, depth,
                            kMaxDimSize, kMaxDimDepth));
}

std::vector<Factor> merge_factors(const std::vector<Factor>& a, const std::vector<Factor>& b) {
  std::vector<Factor> out;
  out.reserve(a.size() + b.size());
  auto i = a.begin(), j = b.begin();
  while (i != a.end() && j != b.end()) {
    const int order = compare(*i->atom, *j->atom);
    if (order < 0) {
      out.push_back(*i++);
    } else if (order > 0) {
      out.push_back(*j++);
    } else {
      out.push_back({i->atom, i->power + j->power});
      ++i, ++j;
    }
  }
  out.insert(out.end(), i, a.end());
  out.insert(out.end(), j, b.end());
  return out;
}

}  // namespace

void throw_overflow() {
  throw Error(ErrorCode::InvalidArgument, "dim", "a size expression overflows 64 bits", "Use smaller sizes");
}

int64_t checked_add(int64_t a, int64_t b) {
  int64_t out = 0;
  if (__builtin_add_overflow(a, b, &out)) throw_overflow();
  return out;
}

int64_t checked_mul(int64_t a, int64_t b) {
  int64_t out = 0;
  if (__builtin_mul_overflow(a, b, &out)) throw_overflow();
  return out;
}

int64_t floor_div_int(int64_t a, int64_t b) {
  if (b == -1) return checked_mul(a, -1);
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

int64_t mod_int(int64_t a, int64_t b) {
  if (b == -1) return 0;
  const int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

int compare(const Atom& a, const Atom& b) {
  if (&a == &b) return 0;
  if (a.kind != b.kind) return a.kind < b.kind ? -1 : 1;
  if (a.kind == AtomKind::Symbol) return three_way(a.index, b.index);
  if (a.operands.size() != b.operands.size()) return a.operands.size() < b.operands.size() ? -1 : 1;
  for (size_t i = 0; i < a.operands.size(); ++i)
    if (const int order = compare(a.operands[i], b.operands[i])) return order;
  return 0;
}

int compare_products(const std::vector<Factor>& a, const std::vector<Factor>& b) {
  if (const int order = three_way(degree(b), degree(a))) return order;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (const int order = compare(*a[i].atom, *b[i].atom)) return order;
    if (a[i].power != b[i].power) return a[i].power > b[i].power ? -1 : 1;
  }
  return three_way(static_cast<int64_t>(a.size()), static_cast<int64_t>(b.size()));
}

int compare(const Dim& a, const Dim& b) {
  const auto* x = DimExpr::of(a);
  const auto* y = DimExpr::of(b);
  if (x == y) return x ? 0 : three_way(a.constant(), b.constant());
  if (!x || !y) return x ? 1 : -1;
  for (size_t i = 0; i < std::min(x->terms.size(), y->terms.size()); ++i) {
    if (const int order = compare_products(x->terms[i].factors, y->terms[i].factors)) return order;
    if (const int order = three_way(x->terms[i].coefficient, y->terms[i].coefficient)) return order;
  }
  return three_way(static_cast<int64_t>(x->terms.size()), static_cast<int64_t>(y->terms.size()));
}

std::vector<Term> DimExpr::terms_of(const Dim& dim) {
  if (const auto* expr = of(dim)) return expr->terms;
  if (dim.constant() == 0) return {};
  return {{dim.constant(), {}}};
}

Dim DimExpr::from_terms(std::vector<Term> terms) {
  std::sort(terms.begin(), terms.end(),
            [](const Term& a, const Term& b) { return compare_products(a.factors, b.factors) < 0; });
  std::vector<Term> merged;
  for (auto& term : terms) {
    if (!merged.empty() && compare_products(merged.back().factors, term.factors) == 0) {
      merged.back().coefficient = checked_add(merged.back().coefficient, term.coefficient);
    } else {
      if (!merged.empty() && merged.back().coefficient == 0) merged.pop_back();
      merged.push_back(std::move(term));
    }
  }
  if (!merged.empty() && merged.back().coefficient == 0) merged.pop_back();
  if (merged.empty()) return Dim(0);
  if (merged.front().factors.empty()) return Dim(merged.front().coefficient);

  auto expr = std::make_shared<DimExpr>();
  for (const auto& term : merged) {
    mix(expr->hash, static_cast<uint64_t>(term.coefficient));
    ++expr->size;
    for (const auto& factor : term.factors) {
      mix(expr->hash, factor.atom->hash + static_cast<uint64_t>(factor.power));
      expr->size += factor.atom->size + (factor.power - 1);
      expr->depth = std::max(expr->depth, factor.atom->depth);
    }
  }
  check_limits(expr->size, expr->depth);
  expr->range = polynomial_range(merged, [](const Atom& atom) { return atom.range; });
  expr->terms = std::move(merged);
  Dim out;
  out.expr_ = std::move(expr);
  return out;
}

Dim DimExpr::from_atom(Atom atom) {
  std::vector<Range> ranges;
  mix(atom.hash, static_cast<uint64_t>(atom.kind) + 17);
  mix(atom.hash, static_cast<uint64_t>(atom.index));
  for (const auto& operand : atom.operands) {
    mix(atom.hash, operand.hash());
    ranges.push_back(free_range(operand));
    const auto* expr = of(operand);
    atom.size += expr ? expr->size : 1;
    atom.depth = std::max(atom.depth, expr ? expr->depth + 1 : 1);
  }
  if (atom.kind != AtomKind::Symbol) atom.range = atom_range(atom, ranges);
  return from_terms({{1, {{std::make_shared<const Atom>(std::move(atom)), 1}}}});
}

Dim sum_of(const std::vector<Dim>& parts) {
  std::vector<Term> terms;
  for (const auto& part : parts) {
    auto more = DimExpr::terms_of(part);
    std::move(more.begin(), more.end(), std::back_inserter(terms));
  }
  return DimExpr::from_terms(std::move(terms));
}

}  // namespace detail

using detail::DimExpr;

void Dim::throw_not_constant() const {
  throw Error(ErrorCode::Internal, "dim", fmt::format("the size {} is not a constant", to_string()),
              "Set Options::dynamic to None, and report it");
}

Dim Dim::symbol(int32_t index) {
  if (index < 0)
    throw Error(ErrorCode::InvalidArgument, "dim", fmt::format("symbol index {} is negative", index));
  detail::Atom atom;
  atom.index = index;
  return DimExpr::from_atom(std::move(atom));
}

std::optional<int32_t> Dim::as_symbol() const {
  if (!expr_ || expr_->terms.size() != 1) return std::nullopt;
  const auto& term = expr_->terms[0];
  if (term.coefficient != 1 || term.factors.size() != 1 || term.factors[0].power != 1) return std::nullopt;
  const auto& atom = *term.factors[0].atom;
  if (atom.kind != detail::AtomKind::Symbol) return std::nullopt;
  return atom.index;
}

Dim operator+(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return detail::checked_add(a.constant(), b.constant());
  return detail::sum_of({a, b});
}

Dim operator-(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) {
    int64_t out = 0;
    if (__builtin_sub_overflow(a.constant(), b.constant(), &out)) detail::throw_overflow();
    return out;
  }
  return a + b * Dim(-1);
}

Dim operator*(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return detail::checked_mul(a.constant(), b.constant());
  const auto x = DimExpr::terms_of(a);
  const auto y = DimExpr::terms_of(b);
  detail::check_limits(static_cast<int64_t>(x.size() * y.size()), 0);
  std::vector<detail::Term> terms;
  terms.reserve(x.size() * y.size());
  for (const auto& p : x)
    for (const auto& q : y)
      terms.push_back(
          {detail::checked_mul(p.coefficient, q.coefficient), detail::merge_factors(p.factors, q.factors)});
  return DimExpr::from_terms(std::move(terms));
}

bool operator==(const Dim& a, const Dim& b) {
  if (a.is_constant() || b.is_constant())
    return a.is_constant() && b.is_constant() && a.constant() == b.constant();
  return a.expr_->hash == b.expr_->hash && detail::compare(a, b) == 0;
}

bool operator<(const Dim& a, const Dim& b) { return detail::compare(a, b) < 0; }

size_t Dim::hash() const {
  if (expr_) return expr_->hash;
  size_t hash = 1;
  detail::mix(hash, static_cast<uint64_t>(constant_));
  return hash;
}

}  // namespace antegrad::ir
