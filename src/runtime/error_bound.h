#pragma once
#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "ir/graph.h"

namespace antegrad::runtime {

class Executable;

/// A tensor as LibTorch computes it, and how far from it another correct computation may be.
struct Bounded {
  at::Tensor value;
  at::Tensor bound;  ///< f64, per element, infinite where nothing is known; undefined stands for zeros
};

/// Computes a graph with LibTorch, and a running error bound: how far rounding may move each element. The
/// bound of a sum grows with the magnitudes of the summands, not with the sum. The bound of a function is
/// found by evaluating it in f64 on arguments moved by their bounds.
class BoundedGraph {
 public:
  explicit BoundedGraph(const ir::Graph& nodes);  ///< functional, of ops that kernels are made of
  ~BoundedGraph();

  /// Returns one result for each output of the graph. Inputs are taken to be exact.
  std::vector<Bounded> run(const std::vector<at::Tensor>& inputs) const;

 private:
  struct Step;
  std::vector<Step> steps_;
  std::vector<ir::ValueId> inputs_, outputs_;
  std::vector<ir::ValueId> kept_;  ///< the values that `values_` computes
  std::unique_ptr<Executable> values_;
  size_t value_count_ = 0;
};

/// Returns the flat index of an element that is farther from the value than its bound allows, or -1.
int64_t first_out_of_bound(const Bounded& expected, const at::Tensor& actual);

}  // namespace antegrad::runtime
