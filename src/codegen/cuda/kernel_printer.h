#pragma once
#include <set>
#include <string>

#include "codegen/cuda/mapping.h"

namespace antegrad::codegen::cuda {

struct PrintedKernel {
  std::string text;
  std::set<std::string> functions;  ///< functions of the prelude that it calls
  bool checks_indices = false;
};

PrintedKernel print_kernel(const schedule::Kernel& kernel, const Mapping& mapping);

/// Prints a kernel of Form::Flat as a function that the threads of any block call, to run what block 0 of the
/// kernel would:
///   AG_INLINE void name(…)
PrintedKernel print_function(const schedule::Kernel& kernel, const Mapping& mapping);

}  // namespace antegrad::codegen::cuda
