#pragma once
#include <cstdint>
#include <memory>

#include "codegen/cuda/mapping.h"
#include "toolchain/cuda/module.h"

namespace antegrad::runtime {

using KernelFunction = int64_t (*)(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end);

/// A kernel for CUDA devices, and how it runs on threads.
struct CudaKernelCode {
  std::shared_ptr<const toolchain::cuda::Module> module;
  codegen::cuda::Mapping mapping;
};

/// A kernel as schedule/kernel.h describes it, ready to be called.
struct KernelCode {
  KernelFunction function = nullptr;           ///< null for a kernel for CUDA devices
  std::shared_ptr<const void> keep;            ///< keeps the function's code loaded
  std::shared_ptr<const CudaKernelCode> cuda;  ///< null for a kernel for the CPU
};

}  // namespace antegrad::runtime
