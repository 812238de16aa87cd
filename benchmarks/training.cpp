// Training steps with an optimizer update, and the cost of a new function whose kernels are already compiled.
// Plain steps, cold first calls and memory, which need processes of their own, are in steps.cpp.
#include <c10/core/GradMode.h>

#include "side_by_side.h"
#include "training_step.h"

namespace antegrad::benchmarks {
namespace {

void descend(const Workload& workload) {
  constexpr double kLearningRate = 1e-6;  // keeps the weights nearly unchanged, and finite
  at::NoGradGuard no_grad;
  for (const auto& parameter : workload.parameters) parameter.add_(parameter.grad(), -kLearningRate);
}

void training_step_sgd(benchmark::State& state, const std::string& name) {
  const auto workload = make_workload(name);
  const auto compiled = compile_loss(workload);
  auto run = [&](const auto& loss_of) {
    auto loss = step(workload, loss_of);
    descend(workload);
    return loss;
  };
  for (int i = 0; i < 3; ++i) run(compiled);
  side_by_side(
      state, [&] { return run(workload.loss); }, [&] { return run(compiled); },
      /*calls_per_block=*/name == "small" ? 32 : 1);
}

/// The first step of a new function whose kernels are already loaded: captures both passes and runs them
/// once.
void training_first_step(benchmark::State& state, const std::string& name) {
  const auto workload = make_workload(name);
  step(workload, workload.loss);
  step(workload, compile_loss(workload));
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

const bool kRegistered = [] {
  using benchmark::RegisterBenchmark;
  for (const auto& name : workload_names(WorkloadSet::Peers)) {
    RegisterBenchmark(("training_step_sgd/" + name).c_str(), training_step_sgd, name)
        ->UseManualTime()
        ->Iterations(name == "small" ? 50 : 20);
    RegisterBenchmark(("training_first_step/" + name).c_str(), training_first_step, name)
        ->UseManualTime()
        ->Iterations(5);
  }
  return true;
}();

}  // namespace
}  // namespace antegrad::benchmarks
