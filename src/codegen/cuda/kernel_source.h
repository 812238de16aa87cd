#pragma once
// Prints kernels as CUDA C++ for NVRTC. The text depends on nothing but the kernel and its mapping.
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/cuda/mapping.h"

namespace antegrad::codegen::cuda {

/// Returns the function of a kernel; it needs the declarations that unit_source() prints before it.
///   extern "C" __global__ void name(…)
/// Its parameters are, in this order:
///   per buffer that is not scratch: a pointer, or for host buffers the struct
///     AgHost { unsigned long long words[2]; } with its bytes, by value;
///   per symbol: long long;
///   unsigned long long* error: where it stores an index that is out of range (index_error()). It then goes
///   on
///     with another index and touches nothing outside of its buffers; what it loads or scatters there is NaN
///     where it is a floating-point number.
std::string kernel_source(const schedule::Kernel& kernel, const Mapping& mapping);

/// What a kernel stores in its error word, which is not 0.
struct IndexError {
  int32_t number = 0;  ///< of the index, counted from 1 in the order of index_texts()
  int64_t index = 0;   ///< its value, of which 56 bits are kept
};
IndexError index_error(uint64_t word);
/// Indices beyond this number share it.
constexpr int32_t kMostIndexNumbers = 255;
/// Describes each index that the kernel checks, for people: "aten.embedding -> f32[3,4], whose dim has the
/// size 10".
std::vector<std::string> index_texts(const schedule::Kernel& kernel,
                                     const std::function<int64_t(int32_t)>& symbols);

/// The first line of programs that take longer to compile than they will ever run: compilers need not try
/// hard.
constexpr std::string_view kCompileQuickly = "// Compile quickly.\n";

/// Returns a whole program without includes.
std::string unit_source(const schedule::Kernel& kernel, const Mapping& mapping);

struct MappedKernel {
  const schedule::Kernel* kernel;
  const Mapping* mapping;
};
/// Returns what unit_source() prints after the definitions for CUDA devices: functions of the prelude and the
/// kernels. Other definitions of the same names make it run elsewhere (tests/kernels/cuda_shim.h).
std::string portable_source(const std::vector<MappedKernel>& kernels);

/// Puts functions of the prelude, and what all kernels share, before a text: the result is as
/// portable_source()'s.
std::string with_prelude(std::set<std::string> functions, const std::string& text);
/// Puts the definitions for CUDA devices before what portable_source() or with_prelude() returns.
std::string for_device(const std::string& portable);

}  // namespace antegrad::codegen::cuda
