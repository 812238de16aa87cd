#pragma once
// Kernels as C text: plain loops over scalars that compilers vectorise. The text depends on nothing but the
// kernels.
#include <string>
#include <vector>

#include "schedule/kernel.h"

namespace antegrad::codegen::cpu {

/// The function of one kernel; needs what unit_source() prints before it.
std::string kernel_source(const schedule::Kernel& kernel);

/// A whole translation unit without includes: types, macros, the functions of the prelude that are used,
/// kernels. For compilers with -fopenmp-simd, -fwrapv and -ffp-contract=off.
std::string unit_source(const std::vector<const schedule::Kernel*>& kernels);

}  // namespace antegrad::codegen::cpu
