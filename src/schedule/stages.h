#pragma once
#include <map>

#include "schedule/loop_plan.h"

namespace antegrad::schedule {

/// When the items of a group run. What a reduction gives is known only after its loops, so a kernel has
/// stages: each item inside loops runs in the first stage that needs it, and what later stages need as well
/// is computed again there, read from where it was stored, or kept in scratch memory.
class Stages {
 public:
  Stages(const Fusion& fusion, const Group& group, const LoopPlan& plan, const ir::PerValue<bool>& stored);

  int32_t stage(ItemId item) const { return stage_.at(item); }
  int32_t space(ItemId item) const { return space_.at(item); }  ///< -1: once per row
  /// The item of the group that makes what an operand reads; not valid: none.
  ItemId maker(const Operand& operand) const;
  bool can_reload(ItemId item) const;  ///< from where it is stored for others
  /// Later stages need it, and it is too dear to compute again.
  bool needs_scratch(ItemId item) const;
  ir::Dim elements_of_space(int32_t space) const;

 private:
  const Item& item(ItemId index) const { return fusion_.item(index); }
  int32_t space_of(ItemId index) const;
  void delay();
  void find_needs();
  bool runs_again(ItemId index) const;

  const Fusion& fusion_;
  const Group& group_;
  const LoopPlan& plan_;
  const ir::PerValue<bool>& stored_;
  std::map<ItemId, int32_t> stage_, space_;
  std::map<ItemId, int32_t> need_;  ///< the last stage that needs it
};

}  // namespace antegrad::schedule
