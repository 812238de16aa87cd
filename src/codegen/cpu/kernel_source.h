#pragma once
// Prints kernels as C: plain loops over scalars that compilers vectorise. The text depends on nothing but the
// kernels.
#include <string>
#include <vector>

#include "schedule/kernel.h"

namespace antegrad::codegen::cpu {

/// Returns the function of one kernel; it needs the declarations that unit_source() prints before it.
std::string kernel_source(const schedule::Kernel& kernel);

/// Returns a whole translation unit without includes: types, macros, the prelude functions that are used, and
/// kernels. It must be compiled with -fopenmp-simd, -fwrapv and -ffp-contract=off.
std::string unit_source(const std::vector<const schedule::Kernel*>& kernels);

}  // namespace antegrad::codegen::cpu
