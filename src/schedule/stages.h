#pragma once
#include <map>

#include "schedule/loop_plan.h"

namespace antegrad::schedule {

/// When the items of a group run. What a reduction gives is known only after its loops, so a kernel has
/// stages: each item inside loops runs in the first stage that needs it, and what later stages need as well
/// is computed again there, read from where it was stored, or kept in scratch memory.
class Stages {
 public:
  Stages(const Fusion& fusion, const Group& group, const LoopPlan& plan, const std::vector<bool>& stored);

  int32_t stage(int32_t item) const { return stage_.at(item); }
  int32_t space(int32_t item) const { return space_.at(item); }  ///< -1: once per row
  /// The item of the group that makes what an operand reads, -1: none.
  int32_t maker(const Operand& operand) const;
  bool can_reload(int32_t item) const;  ///< from where it is stored for others
  /// Later stages need it, and it is too dear to compute again.
  bool needs_scratch(int32_t item) const;
  ir::Dim elements_of_space(int32_t space) const;

 private:
  const Item& item(int32_t index) const { return fusion_.items()[static_cast<size_t>(index)]; }
  int32_t space_of(int32_t index) const;
  void delay();
  void find_needs();
  bool runs_again(int32_t index) const;

  const Fusion& fusion_;
  const Group& group_;
  const LoopPlan& plan_;
  const std::vector<bool>& stored_;
  std::map<int32_t, int32_t> stage_, space_;
  std::map<int32_t, int32_t> need_;  ///< the last stage that needs it
};

}  // namespace antegrad::schedule
