#pragma once
// Prints kernels as CUDA C++ for NVRTC. The text depends on nothing but the kernel and its mapping.
#include <string>

#include "codegen/cuda/mapping.h"

namespace antegrad::codegen::cuda {

/// Returns the function of a kernel; it needs the declarations that unit_source() prints before it.
///   extern "C" __global__ void name(…)
/// Its parameters are, in this order:
///   per buffer that is not scratch: a pointer, or for host buffers the struct
///     AgHost { unsigned long long words[2]; } with its bytes, by value;
///   per symbol: long long;
///   unsigned int* error: where it stores a number other than 0 if an index is out of range. It then goes on
///   with
///     another index and touches nothing outside of its buffers.
std::string kernel_source(const schedule::Kernel& kernel, const Mapping& mapping);

/// Returns a whole program without includes.
std::string unit_source(const schedule::Kernel& kernel, const Mapping& mapping);

struct MappedKernel {
  const schedule::Kernel* kernel;
  const Mapping* mapping;
};
/// Returns what unit_source() prints after the definitions for CUDA devices: functions of the prelude and the
/// kernels. Other definitions of the same names make it run elsewhere (tests/kernels/cuda_shim.h).
std::string portable_source(const std::vector<MappedKernel>& kernels);

}  // namespace antegrad::codegen::cuda
