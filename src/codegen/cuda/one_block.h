#pragma once
// Kernels that consist of parts (schedule/one_block.h): one block runs them one after the other.
#include "codegen/cuda/kernel_printer.h"

namespace antegrad::codegen::cuda {

/// Maps a kernel with parts: to one block, and each part as map_kernel() would on a device with a single
/// multiprocessor. Blocks of a part are run by groups of neighbouring threads, each as many as the part's
/// mapping says, one block after the other.
Mapping map_one_block(const schedule::Kernel& kernel, const schedule::DeviceFacts& facts);

/// Prints a function per part that differs from the others, and the kernel that calls them with barriers in
/// between.
PrintedKernel print_one_block(const schedule::Kernel& kernel, const Mapping& mapping);

}  // namespace antegrad::codegen::cuda
