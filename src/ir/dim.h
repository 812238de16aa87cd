#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace antegrad::ir {

namespace detail {
struct DimExpr;
}

/// A closed interval of integers; the limits of int64_t stand for "no bound".
struct Range {
  int64_t lower = std::numeric_limits<int64_t>::min();
  int64_t upper = std::numeric_limits<int64_t>::max();
  bool operator==(const Range&) const = default;
};

/// An immutable integer expression over symbols s0, s1, … with +, *, floor division, modulo, min and max.
/// Always in canonical form, so that a == b compares forms. Constants, by far the most common case, need no
/// allocation. Arithmetic never wraps around: overflow of a constant throws Error(InvalidArgument).
class Dim {
 public:
  Dim(int64_t value = 0) : constant_(value) {}
  static Dim symbol(int32_t index);

  bool is_constant() const { return expr_ == nullptr; }
  int64_t constant() const {  ///< throws Error(Internal) unless is_constant()
    if (expr_ != nullptr) throw_not_constant();
    return constant_;
  }
  bool is(int64_t value) const { return is_constant() && constant_ == value; }
  std::optional<int32_t> as_symbol() const;  ///< the index if this is exactly one symbol

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  /// Rounds towards minus infinity. Throws for a constant divisor of 0.
  friend Dim floor_div(const Dim& a, const Dim& b);
  friend Dim mod(const Dim& a, const Dim& b);  ///< a - floor_div(a, b) * b
  friend Dim min(const Dim& a, const Dim& b);
  friend Dim max(const Dim& a, const Dim& b);
  friend bool operator==(const Dim& a, const Dim& b);
  /// A total order of expressions for canonical sorting; says nothing about their values.
  friend bool operator<(const Dim& a, const Dim& b);

  using Assignment = std::function<int64_t(int32_t symbol)>;
  int64_t evaluate(const Assignment& value_of) const;
  Dim substitute(const std::function<Dim(int32_t symbol)>& replacement_of) const;
  Range bounds(
      const std::function<Range(int32_t symbol)>& range_of) const;  ///< always valid, not always tight
  void collect_symbols(std::vector<int32_t>& out) const;  ///< appends each symbol once; `out` is sorted

  std::string to_string() const;  ///< parse_dim() of the result returns an equal Dim
  size_t hash() const;

 private:
  friend struct detail::DimExpr;
  [[noreturn]] void throw_not_constant() const;
  int64_t constant_ = 0;
  std::shared_ptr<const detail::DimExpr> expr_;  ///< null for a constant
};

}  // namespace antegrad::ir
