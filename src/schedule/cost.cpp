#include "schedule/cost.h"

#include <algorithm>

namespace antegrad::schedule {
namespace {

constexpr double kTaskNanoseconds = 20000;  // less work is not worth waking a thread

/// Returns an estimate of the time for one unit of work.
double nanoseconds_per_unit(const Kernel& kernel, const SizeOf& size_of) {
  double total = 0;
  for (const auto& section : kernel.sections) {
    double iterations = 1, cost = 0;
    for (auto loop : section.loops) iterations *= static_cast<double>(size_of(kernel.loops[loop]));
    for (const auto& op : section.ops) {
      const bool calls = op.code == OpCode::Compute && op.text.find('(') != std::string::npos;
      cost += calls ? 1.0 : op.code == OpCode::Random ? 1.5 : !op.indirect.empty() ? 1.0 : 0.1;
    }
    total += iterations * cost;
  }
  if (kernel.lane >= 0) total *= static_cast<double>(kStrip);
  const auto whole = static_cast<double>(std::max<int64_t>(1, size_of(units(kernel))));
  if (kernel.chunks.is(0) && !kernel.owner) return kernel.outer.empty() ? total / whole : total;
  for (auto loop : kernel.outer) total *= static_cast<double>(size_of(kernel.loops[loop]));
  return total / whole;
}

}  // namespace

int64_t grain_of(const Kernel& kernel, const SizeOf& size_of) {
  const double cost = std::max(0.01, nanoseconds_per_unit(kernel, size_of));
  if (!kernel.owner) return std::max<int64_t>(1, static_cast<int64_t>(kTaskNanoseconds / cost));
  // Every task visits all updates, so there should be few tasks.
  return std::max<int64_t>(1, static_cast<int64_t>(8 * kTaskNanoseconds / cost));
}

}  // namespace antegrad::schedule
