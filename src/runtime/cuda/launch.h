#pragma once
#include <memory>
#include <vector>

#include "codegen/cuda/mapping.h"
#include "runtime/executable.h"
#include "runtime/kernel_call.h"
#include "schedule/kernel.h"
#include "toolchain/cuda/module.h"

namespace antegrad::runtime {

/// A kernel for CUDA devices, and how it runs on threads.
struct CudaKernelCode {
  std::shared_ptr<const toolchain::cuda::Module> module;
  codegen::cuda::Mapping mapping;
};

namespace cuda {

/// Makes a call that launches a kernel on the device, which must be current. `operands`: as the buffers of
/// the kernel that are passed.
std::unique_ptr<Instruction> make_launch(const schedule::Kernel& kernel, const KernelCode& code,
                                         c10::Device device, std::vector<Operand> operands,
                                         const SymbolValues& symbols);

}  // namespace cuda
}  // namespace antegrad::runtime
