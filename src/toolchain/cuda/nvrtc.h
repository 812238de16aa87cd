#pragma once
// NVIDIA's run-time compiler, opened when something must be compiled. Its functions are declared here, so
// that no header of CUDA is needed to build.
#include <cstddef>
#include <string>

#include "toolchain/toolchain.h"

namespace antegrad::toolchain::cuda {

struct Nvrtc {
  std::string problem;  ///< why it cannot be used; empty when all functions below are set
  int major = 0, minor = 0;

  using Program = struct ProgramTag*;
  const char* (*error_string)(int) = nullptr;
  int (*create)(Program*, const char* source, const char* name, int headers, const char* const*,
                const char* const*) = nullptr;
  int (*destroy)(Program*) = nullptr;
  int (*compile)(Program, int options, const char* const*) = nullptr;
  int (*log_size)(Program, size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*cubin_size)(Program, size_t*) = nullptr;
  int (*cubin)(Program, char*) = nullptr;
};

/// Returns where NVRTC is looked for: ANTEGRAD_NVRTC; the one that is loaded in this process; beside LibTorch
/// or in its wheels of CUDA; the toolkit in CUDA_HOME or /usr/local/cuda; else the name that the loader is
/// asked for. Opens nothing.
std::string nvrtc_path();
/// Opens it on the first call and never closes it. Thread-safe.
const Nvrtc& nvrtc();
/// Returns "nvrtc-" and what identifies the library, for cache keys. Opens it only when its file has no build
/// id or only the loader knows where it is.
std::string nvrtc_name();

/// Compiles CUDA text to cubins for the architecture in CodeTarget.
ToolchainPtr nvrtc_toolchain();

}  // namespace antegrad::toolchain::cuda
