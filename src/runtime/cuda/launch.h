#pragma once
#include <memory>
#include <vector>

#include "runtime/executable.h"
#include "runtime/kernel_call.h"
#include "schedule/kernel.h"

namespace antegrad::runtime {

namespace cuda {

/// Makes a call that launches a kernel on the device, which must be current. `operands`: as the buffers of
/// the kernel that are passed.
std::unique_ptr<Instruction> make_launch(const schedule::Kernel& kernel, const KernelCode& code,
                                         c10::Device device, std::vector<Operand> operands,
                                         const SymbolValues& symbols);

}  // namespace cuda
}  // namespace antegrad::runtime
