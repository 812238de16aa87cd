#include "runtime/step_timer.h"

#include <algorithm>
#include <cmath>

namespace antegrad::runtime {
namespace {

/// A function that is called with many sizes has an executable for each.
constexpr int kMostExecutables = 500;

/// Medians are reported early and corrected later, because a program may end at any time.
bool is_told_after(size_t runs) { return runs <= 3 || runs == 5 || runs == 10 || runs == 20; }

}  // namespace

std::unique_ptr<StepTimer> StepTimer::make(const schedule::Program& program) {
  static std::atomic<int> made{0};
  if (!trace::on() || program.steps.empty() || made.fetch_add(1) >= kMostExecutables) return nullptr;
  return std::unique_ptr<StepTimer>(new StepTimer(program));
}

StepTimer::StepTimer(const schedule::Program& program) {
  for (const auto& step : program.steps) {
    if (const auto* run = std::get_if<schedule::RunKernel>(&step))
      names_.push_back(program.kernel_of(*run).name);
    else
      names_.push_back(program.node_of(std::get<schedule::RunNode>(step)).op);
  }
}

void StepTimer::add(const std::vector<float>& times) {
  const std::scoped_lock lock(mutex_);
  if (times.size() != names_.size() || times_.size() >= kRuns) return;
  times_.push_back(times);
  runs_.store(static_cast<int>(times_.size()), std::memory_order_relaxed);
  if (trace::on() && is_told_after(times_.size())) tell();
}

void StepTimer::tell() const {
  std::vector<double> medians;
  std::vector<float> of_step;
  for (size_t s = 0; s < names_.size(); ++s) {
    of_step.clear();
    for (const auto& run : times_) of_step.push_back(run[s]);
    const auto middle = of_step.begin() + static_cast<int64_t>(of_step.size() / 2);
    std::nth_element(of_step.begin(), middle, of_step.end());
    medians.push_back(std::round(static_cast<double>(*middle) * 1e9) / 1e3);
  }
  const trace::In in(context_);
  trace::Event("times").with("runs", times_.size()).with("steps", names_).with("us", medians).send();
}

}  // namespace antegrad::runtime
