#pragma once
#include <c10/core/Stream.h>

#include <memory>
#include <vector>

#include "optim/device_kernels.h"
#include "optim/table.h"

namespace antegrad::optim {

/// All updates of a step on one CUDA device, as a few launches on the caller's current stream. Whatever can
/// fail, fails in the constructor, except for launches.
class DeviceTable final : public UpdateTable {
 public:
  /// `control`: of device_control(), from which the factor of gradients is read, and whether to update at
  /// all; undefined where both are known. Otherwise as Table.
  DeviceTable(const std::vector<Update>& updates, DeviceKernels& kernels, at::Tensor control);

  void run() const override;
  bool is_one_batch() const override { return in_turn_ == 0 || updates_.size() <= 1; }
  void set_gradient(size_t row, const void* gradient) override;
  void run(c10::ArrayRef<int32_t> rows) override;

 private:
  /// Finds the kernel of a row, for the pointers that it has.
  void choose_kernel(size_t row);
  void launch(c10::ArrayRef<int32_t> rows) const;

  const std::vector<Update>& updates_;
  DeviceKernels& kernels_;
  const at::Tensor control_;
  std::vector<codegen::cuda::TableRow> rows_;
  struct Choice {
    const DeviceKernels::Kernel* kernel = nullptr;
    bool vectors = true;
  };
  std::vector<Choice> choices_;                          ///< per row
  std::vector<std::array<uint64_t, kNumbers>> numbers_;  ///< per row, in the type of the kernel
  bool in_turn_ = false;                                 ///< updates share memory
};

/// The norm of gradients, and whether all of them are finite.
struct DeviceNorm {
  double type = 2;
  codegen::cuda::NormEnd end;
};
/// Launches kernels that find out the norm of all gradients together and what follows from it. Returns a
/// codegen::cuda::TableControl in memory of the device.
at::Tensor device_control(const std::vector<Update>& updates, const DeviceNorm& norm, DeviceKernels& kernels);
/// Waits for it. `stream`: on which it was launched.
codegen::cuda::TableControl read_control(const at::Tensor& control, c10::Stream stream);
/// Returns TableControl::skip as a tensor, on the device.
at::Tensor skip_of(const at::Tensor& control);
/// Returns the caller's current stream.
c10::Stream current_stream(c10::Device device);

}  // namespace antegrad::optim
