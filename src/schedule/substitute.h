#pragma once
#include "schedule/program.h"

namespace antegrad::schedule {

/// Returns the program for the given values of the symbols: its graph and steps have no symbols; its kernels
/// are unchanged and are to be called with these values as their dims.
Program substitute(const Program& program, const std::vector<int64_t>& values);

/// Returns the kernel with these values in place of its symbols, for analysis (such as which buffers it may
/// overwrite). Its code differs from that of the original kernel.
Kernel substitute(const Kernel& kernel, const std::vector<int64_t>& values);

}  // namespace antegrad::schedule
