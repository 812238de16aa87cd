// Traversals of a Dim: evaluation, substitution, symbols, text.
#include <fmt/format.h>

#include <algorithm>

#include "antegrad/error.h"
#include "ir/dim_expr.h"
#include "util/ids.h"

namespace antegrad::ir {
namespace detail {
namespace {

/// Wide enough for intermediate results beyond 64 bits in a polynomial whose value fits.
using Wide = __int128;

Wide wide_mul(Wide a, Wide b) {
  Wide out = 0;
  if (__builtin_mul_overflow(a, b, &out)) throw_overflow();
  return out;
}

int64_t narrow(Wide value) {
  if (value < std::numeric_limits<int64_t>::min() || value > std::numeric_limits<int64_t>::max())
    throw_overflow();
  return static_cast<int64_t>(value);
}

int64_t evaluate_atom(const Atom& atom, const Dim::Assignment& value_of) {
  if (atom.kind == AtomKind::Symbol) return value_of(atom.index);
  std::vector<int64_t> values;
  for (const auto& operand : atom.operands) values.push_back(operand.evaluate(value_of));
  if (atom.kind == AtomKind::Min) return *std::min_element(values.begin(), values.end());
  if (atom.kind == AtomKind::Max) return *std::max_element(values.begin(), values.end());
  if (values[1] == 0) throw Error(ErrorCode::InvalidArgument, "dim", "a size expression divides by zero");
  return atom.kind == AtomKind::FloorDiv ? floor_div_int(values[0], values[1])
                                         : mod_int(values[0], values[1]);
}

Dim substitute_atom(const Atom& atom, const std::function<Dim(int32_t)>& replacement_of) {
  if (atom.kind == AtomKind::Symbol) return replacement_of(atom.index);
  std::vector<Dim> operands;
  for (const auto& operand : atom.operands) operands.push_back(operand.substitute(replacement_of));
  switch (atom.kind) {
    case AtomKind::FloorDiv:
      return floor_div(operands[0], operands[1]);
    case AtomKind::Mod:
      return mod(operands[0], operands[1]);
    default:
      return extremum_of(atom.kind, operands);
  }
}

void collect(const Dim& dim, std::vector<int32_t>& out) {
  if (dim.is_constant()) return;
  for (const auto& term : DimExpr::of(dim)->terms) {
    for (const auto& factor : term.factors) {
      if (factor.atom->kind == AtomKind::Symbol) out.push_back(factor.atom->index);
      for (const auto& operand : factor.atom->operands) collect(operand, out);
    }
  }
}

void append(std::string& out, const Dim& dim);

void append(std::string& out, const Factor& factor) {
  static constexpr std::string_view kNames[] = {"s", "floor_div", "mod", "min", "max"};
  const Atom& atom = *factor.atom;
  out += kNames[ordinal(atom.kind)];
  if (atom.kind == AtomKind::Symbol) {
    out += std::to_string(atom.index);
  } else {
    for (size_t i = 0; i < atom.operands.size(); ++i) {
      out += i == 0 ? "(" : ",";
      append(out, atom.operands[i]);
    }
    out += ')';
  }
  if (factor.power != 1) out += '^' + std::to_string(factor.power);
}

void append(std::string& out, const Dim& dim) {
  if (dim.is_constant()) {
    out += std::to_string(dim.constant());
    return;
  }
  bool first = true;
  for (const auto& term : DimExpr::of(dim)->terms) {
    if (!first && term.coefficient > 0) out += '+';
    first = false;
    if (term.factors.empty() || (term.coefficient != 1 && term.coefficient != -1)) {
      out += std::to_string(term.coefficient);
      if (!term.factors.empty()) out += '*';
    } else if (term.coefficient == -1) {
      out += '-';
    }
    for (size_t i = 0; i < term.factors.size(); ++i) {
      if (i) out += '*';
      append(out, term.factors[i]);
    }
  }
}

}  // namespace
}  // namespace detail

using detail::DimExpr;

int64_t Dim::evaluate(const Assignment& value_of) const {
  if (!expr_) return constant_;
  detail::Wide total = 0;
  for (const auto& term : expr_->terms) {
    detail::Wide value = term.coefficient;
    for (const auto& factor : term.factors) {
      const int64_t base = detail::evaluate_atom(*factor.atom, value_of);
      for (int32_t i = 0; i < factor.power; ++i) value = detail::wide_mul(value, base);
    }
    if (__builtin_add_overflow(total, value, &total)) detail::throw_overflow();
  }
  return detail::narrow(total);
}

Dim Dim::substitute(const std::function<Dim(int32_t)>& replacement_of) const {
  if (!expr_) return *this;
  std::vector<Dim> parts;
  for (const auto& term : expr_->terms) {
    Dim product = term.coefficient;
    for (const auto& factor : term.factors) {
      const Dim base = detail::substitute_atom(*factor.atom, replacement_of);
      for (int32_t i = 0; i < factor.power; ++i) product = product * base;
    }
    parts.push_back(std::move(product));
  }
  return detail::sum_of(parts);
}

void Dim::collect_symbols(std::vector<int32_t>& out) const {
  const auto start = static_cast<std::ptrdiff_t>(out.size());
  detail::collect(*this, out);
  if (start == static_cast<std::ptrdiff_t>(out.size())) return;
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
}

std::string Dim::to_string() const {
  std::string out;
  detail::append(out, *this);
  return out;
}

}  // namespace antegrad::ir
