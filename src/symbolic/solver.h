#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "ir/real.h"

namespace antegrad::symbolic {

/// One value per sample.
using Samples = std::vector<int64_t>;

/// Finds the expression of the symbols for a number, from its values at several assignments of the symbols
/// (samples). Known expressions are tried first: most sizes of a program occur many times, and new ones are
/// made of them.
class Solver {
 public:
  /// `assignments`: for each sample, the value of each symbol.
  explicit Solver(const std::vector<std::vector<int64_t>>& assignments);

  size_t samples() const { return assignments_.size(); }
  /// Whether it found forms that few samples cannot determine: quotients, minima, maxima, remainders.
  bool guesses() const { return guesses_; }
  /// Adds an expression to the known ones.
  void learn(const ir::Dim& dim);
  Samples values_of(const ir::Dim& dim) const;

  /// Returns the first expression found that has these values; nothing if there is none.
  std::optional<ir::Dim> solve(const Samples& values);
  std::optional<ir::Real> solve(const std::vector<double>& values);

 private:
  struct Known {
    ir::Dim dim;
    Samples values;
  };
  bool fits(const ir::Real& real, const std::vector<double>& values) const;
  std::optional<ir::Real> of_known(ir::Real::Form form, const std::vector<double>& values) const;
  std::optional<ir::Real> of_new(ir::Real::Form form, const std::vector<double>& values);
  std::optional<ir::Dim> known(const Samples& values) const;
  std::optional<ir::Dim> of_one(const Samples& values);
  std::optional<ir::Dim> linear(const Samples& values);
  std::optional<ir::Dim> of_two(const Samples& values);
  std::optional<ir::Dim> of_product(const Samples& values);
  std::optional<ir::Dim> multiple(const Samples& values);
  std::optional<int64_t> rounding(const Samples& values, const Known& a, int64_t p, int64_t q) const;
  ir::Dim guess(const ir::Dim& dividend, int64_t divisor);
  std::optional<ir::Dim> quotient(const Samples& values);
  std::optional<ir::Dim> clipped(const Samples& values);

  std::vector<std::vector<int64_t>> assignments_;
  std::vector<Known> known_;  ///< not constant, in the order they were learnt
  std::map<Samples, size_t> by_values_;
  bool guesses_ = false;
};

}  // namespace antegrad::symbolic
