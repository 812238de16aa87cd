#pragma once
#include <c10/core/DeviceGuard.h>

#include "toolchain/cuda/driver.h"

namespace antegrad::runtime::cuda {

/// While it lives, the device is current in this thread, for LibTorch and for the driver. LibTorch's CUDA
/// library is reached through interfaces that it registers with c10, so that nothing links to it.
class DeviceScope {
 public:
  explicit DeviceScope(c10::Device device);
  /// Returns the caller's current stream of the device.
  toolchain::cuda::Stream stream() const { return stream_; }

 private:
  c10::DeviceGuard guard_;
  toolchain::cuda::Stream stream_;
};

/// Returns memory of the current device from LibTorch's caching allocator. Throws c10::OutOfMemoryError.
at::DataPtr allocate(size_t bytes);
/// Waits for everything on the stream. Throws Error(Internal) with `after`, what was started last.
void synchronize(toolchain::cuda::Stream stream, const std::string& after);
/// Whether ANTEGRAD_CUDA_SYNC asks to wait for every kernel, so that errors name the right one.
bool synchronizes();

}  // namespace antegrad::runtime::cuda
