#pragma once
#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "ir/graph.h"

namespace antegrad::runtime {

class Executable;

/// A tensor as LibTorch computes it, and how far from it another right way to compute it may be.
struct Bounded {
  at::Tensor value;
  at::Tensor bound;  ///< f64, per element, infinite where nothing is known; undefined: zero everywhere
};

/// Computes a graph with LibTorch and follows what roundings may do to each element on the way: a running
/// error bound. Of a sum it grows with the magnitudes of what is added up, not with the sum; of a function,
/// with what the function makes of the bounds of its arguments, which is tried out in f64.
class BoundedGraph {
 public:
  explicit BoundedGraph(const ir::Graph& nodes);  ///< functional, of ops that kernels are made of
  ~BoundedGraph();

  /// One for each output of the graph; inputs are exact.
  std::vector<Bounded> run(const std::vector<at::Tensor>& inputs) const;

 private:
  struct Step;
  std::vector<Step> steps_;
  std::vector<ir::ValueId> inputs_, outputs_;
  std::vector<ir::ValueId> kept_;  ///< what `values_` gives: each value that is computed
  std::unique_ptr<Executable> values_;
  size_t value_count_ = 0;
};

/// The flat index of an element that is farther from the value than its bound allows; -1: there is none.
int64_t first_outside(const Bounded& expected, const at::Tensor& actual);

}  // namespace antegrad::runtime
