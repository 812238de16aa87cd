#pragma once
// How much of a result is rounding, element by element, found out by rounding otherwise (stochastic
// arithmetic).
#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <vector>

namespace antegrad::test {

/// The distance from 1 to the next number of a floating type (of the parts of a complex one); 0 for others.
double epsilon_of(at::ScalarType type);
/// The smallest difference between two of its numbers.
double smallest_of(at::ScalarType type);

/// While it lives, what each op of this thread reads and computes is off by a few roundings, backward passes
/// included. Ops that only move numbers are left alone.
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

/// What `eager` gives when nothing is disturbed is `expected`. For each of its tensors: how far each element
/// may be from that in a computation that rounds in another order. Doubles; infinite where rounding decides
/// between a number and none. `eager` is run a few times: it must make its inputs anew.
std::vector<at::Tensor> roundings(const std::function<std::vector<at::Tensor>()>& eager,
                                  const std::vector<at::Tensor>& expected);

}  // namespace antegrad::test
