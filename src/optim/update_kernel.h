#pragma once
#include <cstdint>
#include <vector>

#include "compiler/plan/lowering.h"
#include "optim/formula.h"

namespace antegrad::optim {

/// Kernels over the elements of flat tensors, and where they find their operands.
struct FlatKernel {
  struct Part {
    runtime::KernelCode code;
    /// Per buffer of the kernel: which operand. Outputs that are written in place are on the memory of the
    /// operand that they replace.
    std::vector<int32_t> operands;
  };
  std::vector<Part> parts;  ///< nearly always one; they run one after the other, on few elements at a time

  /// Runs elements (or rows) begin … end. `dims`: the sizes that the graph leaves open.
  void run(void* const* pointers, const int64_t* dims, int64_t begin, int64_t end) const;
};

/// A kernel of such a program, and per passed buffer which operand it is.
struct FlatStep {
  int32_t kernel = 0;  ///< in Program::kernels
  std::vector<int32_t> operands;
};
/// Returns the kernels of a program in order, all of which may work in place on few elements at a time.
/// Operands are as those of flat_kernel(). Throws Error(Internal) where something else would have to run.
std::vector<FlatStep> flat_steps(const schedule::Program& program);

/// Takes the kernels of a graph whose ops have all fused to kernels. Operands are its inputs, then its
/// outputs of role UserOutput; outputs of role MutatedInput are written to the memory of their input. Throws
/// Error(Internal) for other code.
FlatKernel flat_kernel(const compiler::Lowered& code);

}  // namespace antegrad::optim
