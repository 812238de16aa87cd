#pragma once
// A training step as every benchmark runs it, and its peak memory.
#include <antegrad/antegrad.h>

#include "../tests/support/counting_allocator.h"
#include "device.h"
#include "workloads.h"

namespace antegrad::benchmarks {

inline void drop_gradients(const Workload& workload) {
  for (const auto* tensors : {&workload.parameters, &workload.inputs})
    for (const auto& tensor : *tensors)
      if (tensor.requires_grad()) tensor.mutable_grad().reset();
}

/// Runs a loss as the workload wants it.
template <class Loss>
at::Tensor loss_of_workload(const Workload& workload, const Loss& loss_of) {
  const Autocast autocast(workload);
  return loss_of(workload.parameters, workload.inputs);
}

/// Drops the gradients, then runs forward and backward, and waits for the device.
template <class Loss>
at::Tensor step(const Workload& workload, const Loss& loss_of) {
  drop_gradients(workload);
  auto loss = loss_of_workload(workload, loss_of);
  loss.backward();
  synchronize();
  return loss;
}

inline auto compile_loss(const Workload& workload, Options options = {}) {
  options.name = workload.name;
  options.cuda_kernels = true;
  return compile(workload.loss, options);
}

/// Returns the memory at the peak of a step, in MiB, beyond `before` bytes: gradients, activations,
/// temporaries, and memory that earlier steps retain for the next one.
template <class Loss>
double peak_of_step(const Workload& workload, const Loss& loss_of, int64_t before) {
  if (device().is_cuda()) {
    for (int i = 0; i < 3; ++i) step(workload, loss_of);
    drop_gradients(workload);
    restart_cuda_peak();
    step(workload, loss_of);
    return static_cast<double>(cuda_bytes(/*peak=*/true) - before) / (1 << 20);
  }
  auto& memory = test::CountingAllocator::installed();
  for (int i = 0; i < 3; ++i) step(workload, loss_of);
  drop_gradients(workload);
  memory.restart_peak();
  step(workload, loss_of);
  drop_gradients(workload);
  return static_cast<double>(memory.peak_bytes() - before) / (1 << 20);
}

struct Peaks {
  double eager_mib = 0, compiled_mib = 0;
};
/// Measures eager first, since it retains nothing. The counting allocator stays for the rest of the process.
inline Peaks peaks_of_steps(const std::string& name, Scale scale = Scale::Full) {
  const auto& memory = test::CountingAllocator::installed();
  const auto workload = make_on_device(name, scale);
  const auto before = device().is_cuda() ? cuda_bytes(/*peak=*/false) : memory.live_bytes();
  Peaks peaks;
  peaks.eager_mib = peak_of_step(workload, workload.loss, before);
  peaks.compiled_mib = peak_of_step(workload, compile_loss(workload), before);
  return peaks;
}

}  // namespace antegrad::benchmarks
