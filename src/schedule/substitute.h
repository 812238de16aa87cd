#pragma once
#include "schedule/program.h"

namespace antegrad::schedule {

/// The program at one value for each symbol of its graph: its graph and its steps have no symbols, its
/// kernels are the same, to be called with these values as their dims.
Program substitute(const Program& program, const std::vector<int64_t>& values);

/// What a kernel is at these values: for questions to it, such as what it may overwrite. Its code is not the
/// code of the kernel it was made of.
Kernel substitute(const Kernel& kernel, const std::vector<int64_t>& values);

}  // namespace antegrad::schedule
