// The binary form of dims. A constant is written as its value. An expression is written as its terms the
// first time, and as its index in the encoder's table from then on.
#include <fmt/format.h>

#include <limits>

#include "antegrad/error.h"
#include "ir/binary.h"
#include "ir/dim_expr.h"

namespace antegrad::ir {
namespace {

using detail::AtomKind;
using detail::DimExpr;
using detail::Factor;
using detail::Term;

constexpr size_t kMinTerm = 2;    // coefficient, count of factors
constexpr size_t kMinFactor = 3;  // kind, power, index or count of operands

void write_terms(ByteWriter& out, const Dim& dim) {
  const auto terms = DimExpr::terms_of(dim);
  out.count(terms.size());
  for (const auto& [coefficient, factors] : terms) {
    out.signed_varint(coefficient);
    out.count(factors.size());
    for (const auto& [atom, power] : factors) {
      out.u8(static_cast<uint8_t>(atom->kind));
      out.varint(static_cast<uint64_t>(power));
      if (atom->kind == AtomKind::Symbol) {
        out.varint(static_cast<uint64_t>(atom->index));
      } else {
        out.count(atom->operands.size());
        for (const auto& operand : atom->operands) write_terms(out, operand);
      }
    }
  }
}

/// Accepts canonical forms only. Reading then needs no algebra, which hostile bytes could make arbitrarily
/// slow.
class TermReader {
 public:
  explicit TermReader(Decoder& from) : from_(from) {}

  Dim dim(int32_t depth) {
    if (depth > detail::kMaxDimDepth) from_.fail("a size expression is too deep");
    const size_t count = limited(kMinTerm);
    std::vector<Term> terms;
    terms.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      terms.push_back(term(depth));
      const bool sorted = i == 0 || compare_products(terms[i - 1].factors, terms[i].factors) < 0;
      if (terms[i].coefficient == 0 || !sorted) fail_form();
    }
    return DimExpr::from_terms(std::move(terms));
  }

 private:
  size_t limited(size_t min_bytes_each) {
    const size_t count = from_.in.count(min_bytes_each);
    from_.check();
    if (count > static_cast<size_t>(detail::kMaxDimSize))
      from_.fail(fmt::format("a size expression has {} parts", count));
    return count;
  }

  Term term(int32_t depth) {
    Term out;
    out.coefficient = from_.in.signed_varint();
    const size_t count = limited(kMinFactor);
    out.factors.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      out.factors.push_back(factor(depth));
      if (i > 0 && compare(*out.factors[i - 1].atom, *out.factors[i].atom) >= 0) fail_form();
    }
    return out;
  }

  Factor factor(int32_t depth) {
    const auto kind = from_.enumerator(AtomKind::Max);
    const uint64_t power = from_.in.varint();
    if (power < 1 || power > static_cast<uint64_t>(detail::kMaxDimSize)) fail_form();
    const Dim dim = kind == AtomKind::Symbol ? symbol() : function(kind, depth);
    const auto* expr = DimExpr::of(dim);
    const bool one = expr && expr->terms.size() == 1 && expr->terms[0].coefficient == 1 &&
                     expr->terms[0].factors.size() == 1 && expr->terms[0].factors[0].power == 1 &&
                     expr->terms[0].factors[0].atom->kind == kind;
    if (!one) fail_form();
    return {expr->terms[0].factors[0].atom, static_cast<int32_t>(power)};
  }

  Dim symbol() {
    const uint64_t index = from_.in.varint();
    if (index > static_cast<uint64_t>(std::numeric_limits<int32_t>::max())) fail_form();
    return Dim::symbol(static_cast<int32_t>(index));
  }

  Dim function(AtomKind kind, int32_t depth) {
    const size_t count = limited(1);
    std::vector<Dim> operands;
    operands.reserve(count);
    for (size_t i = 0; i < count; ++i) operands.push_back(dim(depth + 1));
    const bool extremum = kind == AtomKind::Min || kind == AtomKind::Max;
    if (extremum ? count < 2 : count != 2) fail_form();
    if (extremum) return detail::extremum_of(kind, operands);
    return kind == AtomKind::Mod ? mod(operands[0], operands[1]) : floor_div(operands[0], operands[1]);
  }

  [[noreturn]] void fail_form() const {
    from_.check();
    from_.fail("a size expression is not in canonical form");
  }

  Decoder& from_;
};

}  // namespace

// The lowest bit distinguishes constants from table indices. Constants too large for the remaining bits are
// in the table, too.
void Encoder::dim(const Dim& dim) {
  if (dim.is_constant() && zigzag(dim.constant()) < uint64_t{1} << 63) {
    out.varint(zigzag(dim.constant()) << 1);
    return;
  }
  const auto [at, is_new] = dims_.try_emplace(dim, static_cast<uint32_t>(dims_.size()));
  out.varint(uint64_t{at->second} << 1 | 1);
  if (is_new) write_terms(out, dim);
}

void Encoder::dims(const std::vector<Dim>& dims) {
  list(dims, [&](const Dim& one) { dim(one); });
}

Dim Decoder::dim() {
  const uint64_t value = in.varint();
  if ((value & 1) == 0) return unzigzag(value >> 1);
  const uint64_t place = value >> 1;
  if (place > dims_.size()) fail(fmt::format("size expression {} of {}", place, dims_.size()));
  if (place == dims_.size()) {
    std::vector<int32_t> used;
    Dim dim = new_dim();
    dim.collect_symbols(used);
    dims_.push_back({std::move(dim), used.empty() ? 0 : static_cast<size_t>(used.back()) + 1});
  }
  const auto& known = dims_[place];
  if (known.symbols > symbols)
    fail(fmt::format("a size names symbol s{}, there are {} symbols", known.symbols - 1, symbols));
  return known.dim;
}

Dim Decoder::new_dim() {
  try {
    Dim dim = TermReader(*this).dim(0);
    check();
    return dim;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::Io) throw;
    fail(fmt::format("a size is not valid: {}", error.what()));
  }
}

std::vector<Dim> Decoder::dims() {
  return list(1, [&] { return dim(); });
}

}  // namespace antegrad::ir
