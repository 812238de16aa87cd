#include "step_measurements.h"

#include <malloc.h>
#include <sys/resource.h>

#include <vector>

#include "timing.h"
#include "training_step.h"

namespace antegrad::benchmarks {
namespace {

constexpr int kWarmUp = 5;
constexpr size_t kFewest = 5;      // of each kind of step, however long they take
constexpr double kBlockNs = 10e6;  // long enough to bring each kind's data back into the caches
constexpr size_t kLongestBlock = 200;
constexpr double kLimitsShare = 0.1;  // of the time

double time_step(const std::function<void()>& step) {
  const auto start = Clock::now();
  step();
  return nanoseconds_since(start);
}

double page_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_minflt);
}

struct Samples {
  std::vector<double> ns, faults;
  void take(const std::function<void()>& step) {
    const auto before = page_faults();
    ns.push_back(time_step(step));
    faults.push_back(page_faults() - before);
  }
};

void keep_memory() {
  constexpr int kMost = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, kMost);
  mallopt(M_TRIM_THRESHOLD, kMost);
}

}  // namespace

double measure_first_call(const std::string& name, Scale scale, StepKind kind) {
  const auto workload = make_on_device(name, scale);
  const auto steps = make_steps(workload, kind);
  return time_step(steps.compiled) * 1e-9;
}

StepTimes measure_steps(const std::string& name, Scale scale, StepKind kind, double seconds,
                        Allocator allocator) {
  if (allocator == Allocator::Keeping) keep_memory();
  const auto workload = make_on_device(name, scale);
  const auto steps = make_steps(workload, kind);
  std::vector<double> warm_up_ns;
  for (int i = 0; i < kWarmUp; ++i) {
    steps.compiled();
    warm_up_ns.push_back(time_step(steps.eager));
  }
  const auto block = std::clamp<size_t>(static_cast<size_t>(kBlockNs / median(warm_up_ns)), 1, kLongestBlock);

  Samples compiled, eager;
  Limits limits(workload.autocast && device().is_cuda(), scale);
  const auto start = Clock::now();
  double in_limits = 0;
  bool eager_first = false;
  while (nanoseconds_since(start) < seconds * 1e9 || eager.ns.size() < kFewest) {
    if (in_limits <= kLimitsShare * nanoseconds_since(start))
      in_limits += time_step([&] { limits.sample(); });
    eager_first = !eager_first;
    for (const bool is_eager : {eager_first, !eager_first})
      for (size_t i = 0; i < block; ++i) is_eager ? eager.take(steps.eager) : compiled.take(steps.compiled);
  }
  return {median(compiled.ns) * 1e-6,
          median(eager.ns) * 1e-6,
          median(compiled.faults),
          median(eager.faults),
          work_of_step(workload, /*updates=*/kind == StepKind::Whole),
          limits.rates()};
}

}  // namespace antegrad::benchmarks
