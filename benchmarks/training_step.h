#pragma once
// A training step as every benchmark runs it, and its peak memory.
#include <antegrad/antegrad.h>
#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/adamw.h>

#include <functional>
#include <memory>

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

/// What a step of a benchmark does.
enum class StepKind {
  Gradients,  ///< forward and backward pass
  Whole,      ///< then clips the gradients by norm, and updates by AdamW all that has one
};

/// The two ways to make a step of a workload.
struct Steps {
  std::function<void()> compiled, eager;
};

/// The whole step: eager and compiled with the same optimizer. Data are arguments of the compiled function;
/// it captures what the optimizer updates.
inline Steps make_whole_steps(const Workload& workload) {
  constexpr double kMostNorm = 1, kLearningRate = 1e-6;  // keeps the weights nearly unchanged, and finite
  Tensors leaves = workload.parameters, data;
  for (const auto& input : workload.inputs) (input.requires_grad() ? leaves : data).push_back(input);
  auto optimizer = std::make_shared<torch::optim::AdamW>(leaves, torch::optim::AdamWOptions(kLearningRate));
  StepOptions options;
  options.clip_norm = kMostNorm;
  options.options.name = workload.name;
  options.options.cuda_kernels = true;
  if (workload.autocast && device().is_cuda()) options.autocast = at::kBFloat16;
  auto step = training_step(
      [&workload](const Tensors& data) {
        auto inputs = workload.inputs;
        size_t next = 0;
        for (auto& input : inputs)
          if (!input.requires_grad()) input = data[next++];
        return workload.loss(workload.parameters, inputs);
      },
      *optimizer, options);
  Steps steps;
  steps.compiled = [optimizer, step, data] {
    step(data);
    synchronize();
  };
  steps.eager = [optimizer, leaves, &workload] {
    optimizer->zero_grad();
    loss_of_workload(workload, workload.loss).backward();
    torch::nn::utils::clip_grad_norm_(leaves, kMostNorm);
    optimizer->step();
    synchronize();
  };
  return steps;
}

/// Refers to the workload.
inline Steps make_steps(const Workload& workload, StepKind kind) {
  if (kind == StepKind::Whole) return make_whole_steps(workload);
  return {[&workload, compiled = compile_loss(workload)] { step(workload, compiled); },
          [&workload] { step(workload, workload.loss); }};
}

/// Returns the memory at the peak of a step, in MiB, beyond `before` bytes: gradients, activations,
/// temporaries, state of the optimizer, and memory that earlier steps retain for the next one.
inline double peak_of_step(const Workload& workload, const std::function<void()>& step, int64_t before) {
  auto& memory = test::CountingAllocator::installed();
  const bool on_cuda = device().is_cuda();
  for (int i = 0; i < 3; ++i) step();
  drop_gradients(workload);
  on_cuda ? restart_cuda_peak() : memory.restart_peak();
  step();
  const auto peak = on_cuda ? cuda_bytes(/*peak=*/true) : memory.peak_bytes();
  drop_gradients(workload);
  return static_cast<double>(peak - before) / (1 << 20);
}

struct Peaks {
  double eager_mib = 0, compiled_mib = 0;
};
/// Measures eager first, since it retains nothing. The counting allocator stays for the rest of the process.
inline Peaks peaks_of_steps(const std::string& name, Scale scale, StepKind kind) {
  const auto& memory = test::CountingAllocator::installed();
  const auto workload = make_on_device(name, scale);
  const auto before = device().is_cuda() ? cuda_bytes(/*peak=*/false) : memory.live_bytes();
  const auto steps = make_steps(workload, kind);
  Peaks peaks;
  peaks.eager_mib = peak_of_step(workload, steps.eager, before);
  peaks.compiled_mib = peak_of_step(workload, steps.compiled, before);
  return peaks;
}

}  // namespace antegrad::benchmarks
