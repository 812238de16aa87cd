#include "partition/plan.h"

#include "partition/extract.h"
#include "partition/min_cut.h"
#include "partition/report.h"

namespace antegrad::partition {

Partition apply_plan(const ir::Graph& joint, const Classes& classes, const Limits& limits) {
  const auto plan = min_cut(joint, classes, weigh(joint, classes, limits));
  auto out = extract(joint, classes, plan);
  out.peak = estimate_peak(out.forward, out.backward, out.saved);
  out.decisions = explain(joint, classes, limits, plan);
  return out;
}

}  // namespace antegrad::partition
