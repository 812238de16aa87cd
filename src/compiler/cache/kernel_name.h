#pragma once

namespace antegrad::compiler {

/// The name of every kernel in its object file, so that equal kernels have equal objects.
constexpr const char* kKernelFunction = "antegrad_kernel";

}  // namespace antegrad::compiler
