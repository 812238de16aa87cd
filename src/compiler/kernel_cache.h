#pragma once
#include <vector>

#include "runtime/executable.h"
#include "schedule/kernel.h"
#include "toolchain/toolchain.h"

namespace antegrad::compiler {

/// Kernels as code, in order. Those that this process has compiled before, for whichever function, are taken
/// from there; the others are compiled in parallel. Throws Error(Compile). Thread-safe.
std::vector<runtime::KernelCode> load_kernels(const std::vector<schedule::Kernel>& kernels,
                                              const toolchain::Toolchain& toolchain, toolchain::Isa isa);

/// How many kernels this process has compiled, and how many it found compiled.
struct KernelCounts {
  uint64_t compiled = 0;
  uint64_t found = 0;
};
KernelCounts kernel_counts();

}  // namespace antegrad::compiler
