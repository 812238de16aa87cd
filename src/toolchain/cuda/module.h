#pragma once
#include <memory>
#include <string>

#include "toolchain/cuda/driver.h"
#include "toolchain/toolchain.h"

namespace antegrad::toolchain::cuda {

/// A cubin given to the driver. Its kernel may be launched on any device of its architecture. The driver
/// keeps it until the process ends, since launched kernels may still be waiting for the device, or be part of
/// a CUDA graph that a user captured.
class Module {
 public:
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// Throws Error(Compile) when the bytes are no cubin, define no kernel of this name, or the driver refuses
  /// them.
  static std::shared_ptr<const Module> load(const Object& cubin, const std::string& kernel);

  KernelHandle kernel() const { return kernel_; }
  /// Loads the kernel for the device, whose context must be current, so that its first launch does not, and
  /// allows it this much dynamic shared memory. Throws Error(Internal).
  void prepare(Device device, int64_t shared_bytes) const;

 private:
  Module() = default;

  KernelHandle kernel_ = nullptr;
};

/// What the compiler made of a kernel.
struct KernelFacts {
  int registers = 0;    ///< per thread
  int local_bytes = 0;  ///< per thread; more than 0 where registers are spilled
};
KernelFacts kernel_facts(const Module& module, Device device);

}  // namespace antegrad::toolchain::cuda
