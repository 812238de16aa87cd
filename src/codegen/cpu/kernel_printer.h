#pragma once
#include <set>
#include <string>

#include "schedule/kernel.h"

namespace antegrad::codegen::cpu {

struct PrintedKernel {
  std::string text;
  std::set<std::string> functions;  ///< functions of the prelude that it calls
  bool checks_indices = false;
};

PrintedKernel print_kernel(const schedule::Kernel& kernel);

}  // namespace antegrad::codegen::cpu
