#include "partition/partition.h"

#include <fmt/format.h>

#include <utility>

#include "antegrad/error.h"
#include "partition/budget.h"
#include "partition/classify.h"
#include "partition/plan.h"
#include "partition/rules.h"

namespace antegrad::partition {
namespace {

Level level_of(const Policy& policy) {
  if (std::holds_alternative<SaveAll>(policy)) return Level::Views;
  return std::holds_alternative<RecomputeAll>(policy) ? Level::All : Level::Cheap;
}

/// Policies that use less memory than MinCut require that inputs are not written to before the backward pass.
Inputs inputs_of(const Policy& policy, const Target& target) {
  const bool frugal =
      std::holds_alternative<RecomputeAll>(policy) || std::holds_alternative<MemoryBudget>(policy);
  return frugal || !target.writable_inputs ? Inputs::Fixed : Inputs::AsEager;
}

/// Recomputed values take memory while they are used. If that makes the peak higher than eager's, saves what
/// eager saves.
Partition min_cut_or_eager(const ir::Graph& joint, const Classes& classes, const ir::PerValue<Keep>& keep) {
  auto fewest_bytes = apply_plan(joint, classes, {Level::Cheap, {}, keep});
  auto eager = apply_plan(joint, classes, {Level::Views, {}, keep});
  return fewest_bytes.peak.peak() <= eager.peak.peak() ? std::move(fewest_bytes) : std::move(eager);
}

Partition plan(const ir::Graph& joint, const Classes& classes, const ir::PerValue<Keep>& keep,
               const Policy& policy, const Target& target) {
  if (const auto* budget = std::get_if<MemoryBudget>(&policy))
    return fit_budget(joint, classes, keep, *budget);
  if (std::holds_alternative<MinCut>(policy) && !target.fuses) return min_cut_or_eager(joint, classes, keep);
  return apply_plan(joint, classes, {level_of(policy), {}, keep});
}

}  // namespace

Partition partition(const ir::Graph& joint, const Policy& policy, const std::vector<ScopeRule>& rules,
                    const Target& target) {
  if (joint.stage != ir::Stage::Joint)
    throw Error(ErrorCode::InvalidArgument, "partition",
                fmt::format("the graph @{} is {}, not joint", joint.name, ir::name(joint.stage)));
  const auto classes = classify(joint, inputs_of(policy, target));
  const auto keep = apply_rules(joint, classes, rules, std::get_if<UserPolicy>(&policy));
  auto halves = plan(joint, classes, keep, policy, target);
  for (const auto& saved : halves.saved)
    halves.extra.push_back(saved.input >= 0 &&
                           !classes.values[joint.inputs[saved.input].value].eager_detects_writes);
  return halves;
}

}  // namespace antegrad::partition
