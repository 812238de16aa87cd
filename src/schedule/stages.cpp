#include "schedule/stages.h"

#include <algorithm>

namespace antegrad::schedule {
Stages::Stages(const Fusion& fusion, const Group& group, const LoopPlan& plan,
               const ir::PerValue<bool>& stored)
    : fusion_(fusion), group_(group), plan_(plan), stored_(stored) {
  expensive_ = std::ranges::count_if(group_.items, [&](ItemId index) { return item(index).expensive; });
  for (auto index : group_.items) {
    int32_t stage = 0;
    for (const auto& operand : item(index).operands)
      if (const auto from = maker(operand); from.valid())
        stage = std::max(stage, stage_[from] + (item(from).form == Form::Reduction ? 1 : 0));
    stage_[index] = stage;
    space_[index] = space_of(index);
  }
  delay();
  find_needs();
}

int32_t Stages::space_of(ItemId index) const {
  Atoms atoms;
  for (const auto& dim : group_.placement.at(index)) atoms = united(atoms, dim);
  if (plan_.outer_atoms.empty() && !group_.split) return 0;
  if (is_subset(atoms, plan_.outer_atoms)) return -1;
  for (size_t s = 0; s < plan_.space_atoms.size(); ++s)
    if (is_subset(without(atoms, plan_.outer_atoms), plan_.space_atoms[s])) return static_cast<int32_t>(s);
  return -1;
}

ItemId Stages::maker(const Operand& operand) const {
  if (!operand.value.valid()) return {};
  if (!group_.values.contains(fusion_.places().owner(operand.value))) return {};
  for (auto index : fusion_.makers(operand.value))
    if (group_.placement.contains(index)) return index;
  return {};
}

/// Moves each item inside loops to the first stage that needs it.
void Stages::delay() {
  std::map<ItemId, int32_t> first;
  for (auto at = group_.items.rbegin(); at != group_.items.rend(); ++at) {
    const auto index = *at;
    const bool inside = space_[index] >= 0 && item(index).form != Form::Reduction;
    if (const auto found = first.find(index); inside && found != first.end()) stage_[index] = found->second;
    for (const auto& operand : item(index).operands)
      if (const auto from = maker(operand); from.valid()) {
        const auto [place, added] = first.emplace(from, stage_[index]);
        if (!added) place->second = std::min(place->second, stage_[index]);
      }
  }
}

ir::Dim Stages::elements_of_space(int32_t space) const {
  ir::Dim elements = 1;
  for (auto loop : plan_.spaces[space]) elements = elements * plan_.extents[loop];
  return elements;
}

bool Stages::runs_again(ItemId index) const {
  if (!item(index).expensive || group_.lane >= 0 || plan_.outer.empty()) return true;
  const auto elements = elements_of_space(space_.at(index));
  if (const auto most = fusion_.target_of(group_).scratch_bytes; most > 0)
    return !elements.is_constant() || elements.constant() * expensive_ * 8 > most;
  return fusion_.likely(elements) > kMostScratch;
}

bool Stages::can_reload(ItemId index) const {
  const auto output = item(index).output;
  const auto dtype = fusion_.graph().tensor_type(output).dtype;
  return stored_[output] && compute_type(dtype) == dtype;
}

bool Stages::needs_scratch(ItemId index) const {
  return space_.at(index) >= 0 && need_.at(index) > stage_.at(index) && !can_reload(index) &&
         !runs_again(index);
}

void Stages::find_needs() {
  for (auto at = group_.items.rbegin(); at != group_.items.rend(); ++at) {
    const auto index = *at;
    need_[index] = std::max(need_[index], stage_[index]);
    const bool again =
        item(index).form != Form::Reduction && space_[index] >= 0 && runs_again(index) && !can_reload(index);
    const auto when = again ? need_[index] : stage_[index];
    for (const auto& operand : item(index).operands)
      if (const auto from = maker(operand); from.valid()) need_[from] = std::max(need_[from], when);
  }
}

}  // namespace antegrad::schedule
