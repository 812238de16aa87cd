#pragma once
#include <memory>
#include <vector>

#include "runtime/executable.h"

namespace antegrad::runtime {

/// Where a kernel finds the memory of a value.
struct Operand {
  int32_t slot = -1;   ///< the register of its tensor; -1 when it is in the arena
  int64_t offset = 0;  ///< in the arena, in bytes
};

/// Thrown inside a run when a kernel finds an index that is out of range.
struct IndexOutOfRange {};

/// The values of symbols, shared by the calls of an executable.
using SymbolValues = std::shared_ptr<const std::vector<int64_t>>;

/// Makes a call of a kernel.
std::unique_ptr<Instruction> make_kernel_call(const KernelCode& code, std::vector<Operand> operands,
                                              SymbolValues symbols, int64_t units, int64_t grain);

}  // namespace antegrad::runtime
