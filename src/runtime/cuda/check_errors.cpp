#include <c10/core/impl/VirtualGuardImpl.h>

#include "antegrad/compile.h"
#include "runtime/cuda/error_words.h"

namespace antegrad {

void check_errors() {
  for (const auto device : runtime::cuda::devices_with_words())
    c10::impl::VirtualGuardImpl(c10::kCUDA).synchronizeDevice(static_cast<c10::DeviceIndex>(device));
  runtime::cuda::throw_found_errors();
}

}  // namespace antegrad
