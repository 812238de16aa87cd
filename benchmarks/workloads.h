#pragma once
#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <vector>

namespace antegrad::benchmarks {

using Tensors = std::vector<at::Tensor>;

/// A loss as a function of parameters and inputs.
struct Workload {
  std::string name;
  Tensors parameters;  ///< leaves that require gradients
  Tensors inputs;
  std::function<at::Tensor(const Tensors& parameters, const Tensors& inputs)> loss;
};

/// The five training workloads that torch.compile and JAX are measured with, in their sizes for a CPU:
///   small  four residual layers of width 16 on 8 rows: nothing but overhead
///   mlp    six residual layers of width 256 on 256 rows
///   pot    an interatomic potential: 2,000 atoms, 40,000 pairs, gradients by the positions too
///   mem    a chain bound by memory: RMS norm, gated GELU, dropout on 4,096 x 1,024
///   gpt    four blocks of width 256, 4 texts of 128 tokens of 4,096
std::vector<std::string> workload_names();
Workload make_workload(const std::string& name);

}  // namespace antegrad::benchmarks
