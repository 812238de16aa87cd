#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace antegrad::benchmarks {

/// A program of any number of ops on 8x8 tensors: matrix products, pointwise ops, views, reductions and an
/// in-place op. Every twelve ops have a weight and a bias of their own, as the layers of a network do. Each
/// step is one recorded op, so `ops` steps make a graph of about `ops` nodes.
class MixedProgram {
 public:
  explicit MixedProgram(int64_t ops);

  /// Uses the parameters without taking them as arguments: a capture lifts them.
  at::Tensor operator()(const at::Tensor& x) const;
  /// Has the signature that capture::capture() expects.
  std::vector<at::Tensor> operator()(const std::vector<at::Tensor>& inputs) const {
    return {(*this)(inputs[0])};
  }

  static at::Tensor example_input();

 private:
  int64_t ops_;
  std::vector<at::Tensor> weights_, biases_;
};

/// Applies fifty pointwise ops, one after the other.
at::Tensor pointwise_chain(const at::Tensor& x);

}  // namespace antegrad::benchmarks
