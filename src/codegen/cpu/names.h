#pragma once
#include "codegen/cpu/section_plan.h"
#include "codegen/text/names.h"

namespace antegrad::codegen::cpu {

/// Names in a kernel with lanes: some scalars, and all scratch memory, have an element per lane.
class LaneNames : public Names {
 public:
  LaneNames(const schedule::Kernel& kernel, const KernelPlan& plan) : Names(kernel), plan_(plan) {}

  std::string scalar(int32_t id) const override;  ///< "v3", or "v3[l]" when there is one per lane
  const KernelPlan& plan() const { return plan_; }

 private:
  std::string subscript(int32_t buffer, const std::string& indirect, const std::string& address) override;
  const KernelPlan& plan_;
};

/// Returns the length of a kernel's per-lane arrays.
int64_t lanes(const schedule::Kernel& kernel);

}  // namespace antegrad::codegen::cpu
