#pragma once
// Building blocks of the workloads: they make the parameters of layers and apply the layers.
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <cmath>

#include "workloads.h"

namespace antegrad::benchmarks {

/// Returns parameters in the order in which they were made.
class Reader {
 public:
  explicit Reader(const Tensors& tensors) : next_(tensors.begin()) {}
  const at::Tensor& next() { return *next_++; }

 private:
  Tensors::const_iterator next_;
};

inline at::Tensor leaf(const at::Tensor& values) { return values.detach().set_requires_grad(true); }

inline at::Tensor uniform_leaf(at::IntArrayRef sizes, int64_t fan_in) {
  const double bound = 1 / std::sqrt(static_cast<double>(fan_in));
  return leaf(at::empty(sizes).uniform_(-bound, bound));
}

inline void make_linear(Tensors& parameters, int64_t in, int64_t out, bool bias = true) {
  parameters.push_back(uniform_leaf({out, in}, in));
  if (bias) parameters.push_back(uniform_leaf({out}, in));
}
inline at::Tensor linear(Reader& parameters, const at::Tensor& x) {
  const auto& weight = parameters.next();
  return at::linear(x, weight, parameters.next());
}

/// Makes the scale and shift that norms of all kinds have.
inline void make_norm(Tensors& parameters, int64_t width) {
  parameters.push_back(leaf(at::ones({width})));
  parameters.push_back(leaf(at::zeros({width})));
}
inline at::Tensor layer_norm(Reader& parameters, const at::Tensor& x) {
  const auto& weight = parameters.next();
  return at::layer_norm(x, {x.size(-1)}, weight, parameters.next());
}

}  // namespace antegrad::benchmarks
