#include "step_measurements.h"

#include <vector>

#include "timing.h"
#include "training_step.h"

namespace antegrad::benchmarks {
namespace {

constexpr int kWarmUp = 5;
constexpr size_t kFewest = 5;      // of each kind of step, however long they take
constexpr double kBlockNs = 10e6;  // long enough to bring each kind's data back into the caches
constexpr size_t kLongestBlock = 200;

double time_step(const std::function<void()>& step) {
  const auto start = Clock::now();
  step();
  return nanoseconds_since(start);
}

}  // namespace

double measure_first_call(const std::string& name, Scale scale, StepKind kind) {
  const auto workload = make_on_device(name, scale);
  const auto steps = make_steps(workload, kind);
  return time_step(steps.compiled) * 1e-9;
}

StepTimes measure_steps(const std::string& name, Scale scale, StepKind kind, double seconds) {
  const auto workload = make_on_device(name, scale);
  const auto steps = make_steps(workload, kind);
  std::vector<double> compiled_ns, eager_ns;
  for (int i = 0; i < kWarmUp; ++i) {
    steps.compiled();
    eager_ns.push_back(time_step(steps.eager));
  }
  const auto block = std::clamp<size_t>(static_cast<size_t>(kBlockNs / median(eager_ns)), 1, kLongestBlock);
  eager_ns.clear();

  const auto start = Clock::now();
  bool eager_first = false;
  while (nanoseconds_since(start) < seconds * 1e9 || eager_ns.size() < kFewest) {
    eager_first = !eager_first;
    for (const bool eager : {eager_first, !eager_first})
      for (size_t i = 0; i < block; ++i)
        if (eager)
          eager_ns.push_back(time_step(steps.eager));
        else
          compiled_ns.push_back(time_step(steps.compiled));
  }
  return {median(compiled_ns) * 1e-6, median(eager_ns) * 1e-6};
}

}  // namespace antegrad::benchmarks
