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
  Tensors parameters;  ///< leaves that require grad
  Tensors inputs;      ///< may require grad too, and may be written to (batch norm statistics)
  std::function<at::Tensor(const Tensors& parameters, const Tensors& inputs)> loss;
  bool autocast = false;  ///< on a CUDA device, in bf16
};

enum class Scale {
  Full,
  Small,  ///< the same programs on little data, for tests
  Cuda,   ///< as much data as a large CUDA device needs to be busy; of the workloads in WorkloadSet::Peers
};

/// Peers: the five training workloads that torch.compile and JAX are compared on, in sizes for a CPU:
///   small      four residual layers of width 16 on 8 rows: nothing but overhead
///   mlp        six residual layers of width 256 on 256 rows
///   pot        an interatomic potential: 2,000 atoms, 40,000 pairs, gradients for the positions too
///   mem        a memory-bound chain: RMS norm, gated GELU, dropout on 4,096 x 1,024
///   gpt        four blocks of width 256, 4 texts of 128 tokens, a vocabulary of 4,096
/// More: eight further kinds of workload:
///   resnet        two basic blocks, the second halving the image, batch norms in training mode
///   resnet_block  one basic block of 64 channels on 16 x 16
///   lstm          a cell written out, 32 steps of 32 sequences, width 128
///   lstm_module   what nn::LSTM calls: 32 steps of 32 sequences, width 256
///   gru_module    the same with nn::GRU
///   vae           two-layer encoder and decoder of 784 pixels, reparameterisation, KL
///   attention     4 heads of 64, 256 queries over 4,096 keys, softmax written out
///   stencil       16 steps of the wave equation on 512 x 512, gradients for initial state and speed
enum class WorkloadSet { Peers, More, All };
std::vector<std::string> workload_names(WorkloadSet set);
/// Throws std::out_of_range for any other name.
Workload make_workload(const std::string& name, Scale scale = Scale::Full);
/// Moves parameters and inputs.
void move_to(at::Device device, Workload& workload);

}  // namespace antegrad::benchmarks
