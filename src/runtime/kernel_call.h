#pragma once
#include <memory>
#include <vector>

#include "runtime/executable.h"

namespace antegrad::runtime {

/// Where a kernel finds the memory of a value.
struct Operand {
  int32_t slot = -1;   ///< the register of its tensor; -1: it is in the arena
  int64_t offset = 0;  ///< there, in bytes
};

/// What a kernel throws inside a run when it finds an index that is out of range.
struct IndexOutOfRange {};

/// The values of symbols, shared by the calls of a run.
using SymbolValues = std::shared_ptr<const std::vector<int64_t>>;

/// A call of a kernel.
std::unique_ptr<Instruction> make_kernel_call(const KernelCode& code, std::vector<Operand> operands,
                                              SymbolValues symbols, int64_t units, int64_t grain);

}  // namespace antegrad::runtime
