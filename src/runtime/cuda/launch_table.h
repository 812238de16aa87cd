#pragma once
// Launches of kernels over tables of tensors (codegen/cuda/tensor_table.h).
#include <cstddef>
#include <string>
#include <vector>

#include "codegen/cuda/norm_source.h"
#include "codegen/cuda/tensor_table.h"
#include "toolchain/cuda/module.h"

namespace antegrad::runtime::cuda {

/// A kernel over tables, loaded for a device.
struct TableKernel {
  std::string name;
  std::shared_ptr<const toolchain::cuda::Module> module;
  codegen::cuda::TableShape shape;
};

/// Runs a kernel of table_source() over rows. `control`: may be null. Throws Error(Internal) with its name.
void run_table(const TableKernel& kernel, const std::vector<codegen::cuda::TableImage>& images,
               const codegen::cuda::TableControl* control, toolchain::cuda::Stream stream);

/// Bytes of shared memory that norm kernels are launched with.
constexpr int64_t kNormSharedBytes = 128;
/// Runs a kernel of norm_source(). `partials`: two doubles for each block of the images.
void run_norm(const TableKernel& kernel, const std::vector<codegen::cuda::TableImage>& images,
              double* partials, double power, toolchain::cuda::Stream stream);
/// Runs a kernel of norm_end_source().
void end_norm(const TableKernel& kernel, const double* partials, int64_t blocks,
              const codegen::cuda::NormEnd& how, codegen::cuda::TableControl* control,
              toolchain::cuda::Stream stream);

}  // namespace antegrad::runtime::cuda
