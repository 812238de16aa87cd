#pragma once
// Measures how much of each element of a result is rounding error, by perturbing roundings (stochastic
// arithmetic).
#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <vector>

namespace antegrad::test {

/// The distance from 1 to the next number of a floating-point type (of the parts of a complex one); 0 for
/// other types.
double epsilon_of(at::ScalarType type);
/// The smallest positive number of the type, subnormals included.
double smallest_of(at::ScalarType type);

/// While it lives, perturbs the operands and results of every op on this thread by a few roundings, backward
/// passes included. Ops that only move or select numbers are left alone.
class OtherRoundings {
 public:
  explicit OtherRoundings(uint64_t seed);
  ~OtherRoundings();
  OtherRoundings(const OtherRoundings&) = delete;
  OtherRoundings& operator=(const OtherRoundings&) = delete;

 private:
  class Disturber;
  std::unique_ptr<Disturber> disturber_;
};

/// Runs `eager`, which gives `expected` unperturbed, several times with perturbed roundings. Returns for each
/// tensor how far each element may be from `expected` in a computation that rounds in another order: doubles,
/// infinite where rounding decides between a number and NaN or infinity. `eager` must make new inputs in
/// every run.
std::vector<at::Tensor> roundings(const std::function<std::vector<at::Tensor>()>& eager,
                                  const std::vector<at::Tensor>& expected);

}  // namespace antegrad::test
