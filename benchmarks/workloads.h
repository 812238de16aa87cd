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
  Tensors inputs;      ///< may require gradients too, and may be written (statistics of batch norms)
  std::function<at::Tensor(const Tensors& parameters, const Tensors& inputs)> loss;
};

enum class Scale {
  Full,
  Small,  ///< the same program on little data, for tests
};

/// Peers: the five training workloads that torch.compile and JAX are measured with, in their sizes for a CPU:
///   small      four residual layers of width 16 on 8 rows: nothing but overhead
///   mlp        six residual layers of width 256 on 256 rows
///   pot        an interatomic potential: 2,000 atoms, 40,000 pairs, gradients by the positions too
///   mem        a chain bound by memory: RMS norm, gated GELU, dropout on 4,096 x 1,024
///   gpt        four blocks of width 256, 4 texts of 128 tokens of 4,096
/// More: five of our own, of other kinds:
///   resnet     two basic blocks, the second one halving the image, batch norms in training mode
///   lstm       a cell written out, 32 steps of 32 sequences, width 128
///   vae        two-layer encoder and decoder of 784 pixels, reparameterisation, KL
///   attention  4 heads of 64, 256 queries over 4,096 keys, softmax written out
///   stencil    16 steps of the wave equation on 512 x 512, gradients by initial state and speed
enum class WorkloadSet { Peers, More, All };
std::vector<std::string> workload_names(WorkloadSet set);
/// Throws std::out_of_range for a name that is none of these.
Workload make_workload(const std::string& name, Scale scale = Scale::Full);

}  // namespace antegrad::benchmarks
