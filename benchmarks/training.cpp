// Steps of training: what the compiled forward and backward passes cost beside eager's, in time and memory.
#include <antegrad/antegrad.h>
#include <c10/core/GradMode.h>

#include "../tests/counting_allocator.h"
#include "side_by_side.h"
#include "workloads.h"

namespace antegrad::benchmarks {
namespace {

using test::CountingAllocator;

/// Zeroes gradients, forward, backward.
template <class Loss>
at::Tensor step(const Workload& workload, const Loss& loss_of) {
  for (const auto& parameter : workload.parameters) parameter.mutable_grad().reset();
  auto loss = loss_of(workload.parameters, workload.inputs);
  loss.backward();
  return loss;
}

void descend(const Workload& workload) {
  constexpr double kLearningRate = 1e-6;  // the weights stay what they are, and finite
  at::NoGradGuard no_grad;
  for (const auto& parameter : workload.parameters) parameter.add_(parameter.grad(), -kLearningRate);
}

auto compile_loss(const Workload& workload) {
  Options options;
  options.name = workload.name;
  return compile(workload.loss, options);
}

enum class Update { None, Sgd };

void training_step(benchmark::State& state, const std::string& name, Update update) {
  const auto workload = make_workload(name);
  const auto compiled = compile_loss(workload);
  auto run = [&](const auto& loss_of) {
    auto loss = step(workload, loss_of);
    if (update == Update::Sgd) descend(workload);
    return loss;
  };
  for (int i = 0; i < 3; ++i) run(compiled);
  side_by_side(
      state, [&] { return run(workload.loss); }, [&] { return run(compiled); },
      /*calls_per_block=*/name == "small" ? 32 : 1);
}

/// A new function's first step: capture of both passes, and one run.
void training_first_step(benchmark::State& state, const std::string& name) {
  const auto workload = make_workload(name);
  step(workload, workload.loss);
  std::vector<double> first_ms, eager_ms;
  auto timed = [&](const auto& loss_of) {
    const auto start = Clock::now();
    step(workload, loss_of);
    return nanoseconds_since(start) * 1e-6;
  };
  for (auto _ : state) {
    first_ms.push_back(timed(compile_loss(workload)));
    eager_ms.push_back(timed(workload.loss));
    state.SetIterationTime(first_ms.back() * 1e-3);
  }
  state.counters["first_ms"] = median(first_ms);
  state.counters["eager_ms"] = median(eager_ms);
  state.counters["beyond_eager_ms"] = median(first_ms) - median(eager_ms);
}

/// What a step has allocated at its peak beyond what there was before: gradients, activations, temporaries.
template <class Loss>
double peak_of_step(const Workload& workload, const Loss& loss_of) {
  auto& memory = CountingAllocator::installed();
  step(workload, loss_of);
  for (const auto& parameter : workload.parameters) parameter.mutable_grad().reset();
  const auto before = memory.live_bytes();
  memory.restart_peak();
  step(workload, loss_of);
  return static_cast<double>(memory.peak_bytes() - before) / (1 << 20);
}

void training_memory(benchmark::State& state, const std::string& name) {
  CountingAllocator::installed();
  const auto workload = make_workload(name);
  const auto compiled = compile_loss(workload);
  double eager_mib = 0, compiled_mib = 0;
  for (auto _ : state) {
    eager_mib = peak_of_step(workload, workload.loss);
    compiled_mib = peak_of_step(workload, compiled);
  }
  state.counters["eager_mib"] = eager_mib;
  state.counters["compiled_mib"] = compiled_mib;
  state.counters["ratio_to_eager"] = compiled_mib / eager_mib;
}

const bool kRegistered = [] {
  using benchmark::RegisterBenchmark;
  for (const auto& name : workload_names()) {
    const int blocks = name == "small" ? 50 : 20;
    RegisterBenchmark(("training_step/" + name).c_str(), training_step, name, Update::None)
        ->UseManualTime()
        ->Iterations(blocks);
    RegisterBenchmark(("training_step_sgd/" + name).c_str(), training_step, name, Update::Sgd)
        ->UseManualTime()
        ->Iterations(blocks);
    RegisterBenchmark(("training_first_step/" + name).c_str(), training_first_step, name)
        ->UseManualTime()
        ->Iterations(5);
  }
  // Last: the allocator that counts stays.
  for (const auto& name : workload_names())
    RegisterBenchmark(("training_memory/" + name).c_str(), training_memory, name)->Iterations(1);
  return true;
}();

}  // namespace
}  // namespace antegrad::benchmarks
