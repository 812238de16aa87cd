#include "toolchain/cuda/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace antegrad::toolchain::cuda {

void* Symbols::address(const char* name) {
  void* found = dlsym(handle_, name);
  if (found == nullptr && problem_.empty()) problem_ = fmt::format("{} has no {}", library_, name);
  return found;
}

}  // namespace antegrad::toolchain::cuda
