#pragma once
// The device that a benchmark's tensors are on: the CPU, or with --device cuda the first CUDA device.
#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>

#include <stdexcept>
#include <string>

#include "workloads.h"

namespace antegrad::benchmarks {

/// The device of this process.
inline at::Device& device() {
  static at::Device chosen = at::kCPU;
  return chosen;
}

/// `name` is "cpu" or "cuda". Must come before anything that may ask LibTorch whether there is a CUDA device,
/// because it remembers the answer. Matrix products of f32 use TF32 on CUDA devices, as in the peers.
inline void choose_device(const std::string& name) {
  if (name == "cpu") return;
  if (dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) == nullptr) throw std::runtime_error(dlerror());
  if (!at::hasCUDA()) throw std::runtime_error("this LibTorch finds no CUDA device");
  device() = at::Device(at::kCUDA, 0);
  at::globalContext().setFloat32MatmulPrecision("high");
}

/// Waits until the device has done everything.
inline void synchronize() {
  if (device().is_cuda()) c10::impl::VirtualGuardImpl(c10::kCUDA).synchronizeDevice(device().index());
}

inline Workload make_on_device(const std::string& name, Scale scale) {
  auto workload = make_workload(name, scale);
  if (device().is_cuda()) move_to(device(), workload);
  synchronize();
  return workload;
}

/// While it lives, autocast to bf16 is on for a workload that wants it, on a CUDA device.
class Autocast {
 public:
  explicit Autocast(const Workload& workload) : on_(workload.autocast && device().is_cuda()) {
    if (!on_) return;
    at::autocast::set_autocast_enabled(at::kCUDA, true);
    at::autocast::set_autocast_dtype(at::kCUDA, at::kBFloat16);
  }
  ~Autocast() {
    if (!on_) return;
    at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(at::kCUDA, false);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  bool on_;
};

/// Bytes that LibTorch's caching allocator has given out on the CUDA device: now, or at most since
/// restart_peak().
inline int64_t cuda_bytes(bool peak) {
  const auto statistics = c10::getDeviceAllocator(at::kCUDA)->getDeviceStats(device().index());
  const auto& bytes = statistics.allocated_bytes[0];
  return peak ? bytes.peak : bytes.current;
}
inline void restart_cuda_peak() { c10::getDeviceAllocator(at::kCUDA)->resetPeakStats(device().index()); }

}  // namespace antegrad::benchmarks
