#pragma once
#include <c10/core/Device.h>

#include <map>
#include <tuple>

#include "codegen/cuda/norm_source.h"
#include "compiler/plan/lowering.h"
#include "optim/formula.h"
#include "runtime/cuda/launch_table.h"
#include "schedule/program.h"

namespace antegrad::optim {

/// The name of kernels in their text.
constexpr const char* kTableFunction = compiler::kKernelFunction;

/// Returns a kernel of device_graph_text(), scheduled for a device, as text. With `vectors`, all tensors of a
/// row must begin at multiples of 16 bytes.
codegen::cuda::TableText update_text(const Formula& formula, const schedule::Program& program,
                                     const schedule::DeviceFacts& facts, bool vectors);

/// The kernels that make steps on CUDA devices, each compiled when it is first asked for.
class DeviceKernels {
 public:
  explicit DeviceKernels(const compiler::Lowering& lowering) : lowering_(lowering) {}

  /// Returns why there are none; empty when they can be made.
  std::string problem() const { return lowering_.why_no_cuda_kernels(); }

  using Kernel = runtime::cuda::TableKernel;
  /// The device must be current, here and below. All throw Error(Compile).
  const Kernel& update(const Formula& formula, bool scale_on_device, bool vectors, c10::Device device);
  const Kernel& norm(codegen::cuda::NormKind kind, ir::DType dtype, bool vectors, c10::Device device);
  const Kernel& norm_end(c10::Device device);

  /// How many formulas have been compiled.
  uint64_t formulas() const { return formulas_; }

 private:
  Kernel make(const std::string& name, const codegen::cuda::TableText& text, c10::Device device,
              int64_t shared_bytes) const;

  const compiler::Lowering& lowering_;
  std::map<std::tuple<Formula, bool, bool, int>, Kernel> updates_;
  std::map<std::tuple<codegen::cuda::NormKind, ir::DType, bool, int>, Kernel> norms_;
  std::map<int, Kernel> norm_ends_;
  uint64_t formulas_ = 0;
};

}  // namespace antegrad::optim
