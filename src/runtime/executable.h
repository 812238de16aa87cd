#pragma once
#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "ir/graph.h"

namespace antegrad::runtime {

using Registers = c10::SmallVector<at::Tensor, 24>;

/// One call, ready to be made: arguments are registers or values prepared beforehand.
class Instruction {
 public:
  virtual ~Instruction() = default;
  virtual void run(Registers& registers) const = 0;
};

/// A functional graph as a flat list of calls of LibTorch's kernels. Immutable; any number of threads may run
/// it.
class Executable {
 public:
  explicit Executable(const ir::Graph& graph);

  /// `inputs` in the order of the graph's; `outputs` gets one tensor per output of the graph.
  /// Runs below autograd and autocast, whose work the graph already holds.
  void run(c10::ArrayRef<at::Tensor> inputs, std::vector<at::Tensor>& outputs) const;
  /// Takes the inputs over: each is let go of after its last use.
  void run(std::vector<at::Tensor>&& inputs, std::vector<at::Tensor>& outputs) const;

 private:
  void run(Registers& registers, std::vector<at::Tensor>& outputs) const;

  struct Entry {
    std::unique_ptr<Instruction> instruction;
    std::vector<int32_t> dying;  ///< registers that no later instruction reads
  };
  size_t register_count_ = 0;
  std::vector<Entry> entries_;
  std::vector<int32_t> inputs_;   ///< register per graph input; -1: not used
  std::vector<int32_t> outputs_;  ///< register per graph output; -1: undefined
};

}  // namespace antegrad::runtime
