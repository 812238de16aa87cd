#pragma once
#include <map>

#include "schedule/loop_plan.h"

namespace antegrad::schedule {

/// Assigns the items of a group to stages. The result of a reduction is known only after its loops, so a
/// kernel runs in stages: an item inside loops runs in the first stage that needs it; later stages recompute
/// it, reload it from where it was stored, or read it from scratch memory.
class Stages {
 public:
  Stages(const Fusion& fusion, const Group& group, const LoopPlan& plan, const ir::PerValue<bool>& stored);

  int32_t stage(ItemId item) const { return stage_.at(item); }
  int32_t space(ItemId item) const { return space_.at(item); }  ///< -1 for once per row
  /// Returns the item of the group that computes the operand; not valid when there is none.
  ItemId maker(const Operand& operand) const;
  bool can_reload(ItemId item) const;  ///< from where it is stored for other readers
  /// Whether later stages need it and it is too expensive to recompute.
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
  int64_t expensive_ = 0;           ///< how many items are expensive
  std::map<ItemId, int32_t> need_;  ///< the last stage that needs it
};

}  // namespace antegrad::schedule
