#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace antegrad::toolchain::cuda {

/// Whether the bytes begin like an ELF file for CUDA devices.
bool is_cubin(std::span<const uint8_t> bytes);

/// Returns the names of the kernels in a cubin. Checks what the driver, which expects bytes of a compiler,
/// may not: that headers, sections and names are inside the file. Throws Error(Compile).
std::vector<std::string> functions_of_cubin(std::span<const uint8_t> cubin);

}  // namespace antegrad::toolchain::cuda
