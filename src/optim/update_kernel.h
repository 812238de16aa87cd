#pragma once
#include <cstdint>
#include <vector>

#include "compiler/plan/lowering.h"
#include "optim/formula.h"

namespace antegrad::optim {

/// A kernel over the elements of flat tensors, and where it finds its operands.
struct FlatKernel {
  runtime::KernelCode code;
  /// Per buffer of the kernel: which operand. Outputs that are written in place are on the memory of the
  /// operand that they replace.
  std::vector<int32_t> operands;

  /// Runs elements (or rows) begin … end. `dims`: the sizes that the graph leaves open.
  void run(void* const* pointers, const int64_t* dims, int64_t begin, int64_t end) const;
};

/// Compiles a graph whose ops fuse to one kernel. Operands are its inputs, then its outputs of role
/// UserOutput; outputs of role MutatedInput are written to the memory of their input. Throws Error(Compile).
FlatKernel flat_kernel(const std::string& graph_text, const compiler::Lowering& lowering);

}  // namespace antegrad::optim
