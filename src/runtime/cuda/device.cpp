#include "runtime/cuda/device.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <cstdlib>
#include <string_view>

namespace antegrad::runtime::cuda {
namespace {

toolchain::cuda::Stream current_stream(c10::Device device) {
  const auto* interface = c10::impl::getDeviceGuardImpl(c10::kCUDA);
  return static_cast<toolchain::cuda::Stream>(interface->getStreamNativeHandle(interface->getStream(device)));
}

}  // namespace

DeviceScope::DeviceScope(c10::Device device) : guard_(device), stream_(current_stream(device)) {
  toolchain::cuda::ensure_context(device.index());
}

at::DataPtr allocate(size_t bytes) { return c10::GetAllocator(c10::kCUDA)->allocate(bytes); }

void synchronize(toolchain::cuda::Stream stream, const std::string& after) {
  toolchain::cuda::check(toolchain::cuda::driver().stream_synchronize(stream), after);
}

bool synchronizes() {
  static const bool asked = [] {
    const char* value = std::getenv("ANTEGRAD_CUDA_SYNC");
    return value != nullptr && std::string_view(value) != "0";
  }();
  return asked;
}

}  // namespace antegrad::runtime::cuda
