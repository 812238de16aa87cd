#pragma once
// Where tests make their tensors: on the CPU, or, with ANTEGRAD_TEST_DEVICE=cuda, on a CUDA device.
#include <ATen/core/Tensor.h>

#include <string>

namespace antegrad::test {

/// Returns "" when there is a CUDA device that LibTorch can use, else what is missing.
std::string missing_cuda();

/// Returns the device of ANTEGRAD_TEST_DEVICE.
at::Device device();
/// Returns "" when there is such a device, else what is missing.
std::string missing_device();
/// While it lives, device() is the CPU in this thread. Perturbed roundings are measured there: a backward
/// pass on a CUDA device runs on a thread of its own.
class OnCpu {
 public:
  OnCpu();
  ~OnCpu();
  OnCpu(const OnCpu&) = delete;
  OnCpu& operator=(const OnCpu&) = delete;
};

/// Returns the tensor with the same sizes, strides and storage offset on device(): a copy, or itself.
at::Tensor on_device(const at::Tensor& tensor);

}  // namespace antegrad::test
