#pragma once
// Which sections of a row wait for what other threads did in the sections before.
#include <vector>

#include "codegen/cuda/kernel_plan.h"

namespace antegrad::codegen::cuda {

/// Returns per section whether the threads of a row wait for each other before it: because it stores to
/// memory that another thread may have accessed, or loads what another may have stored, and no earlier wait
/// lies between. Outputs may share the memory of inputs as runtime/plan/overwrite.h says.
std::vector<bool> barriers_before(const schedule::Kernel& kernel, const KernelPlan& plan,
                                  const Mapping& mapping);

}  // namespace antegrad::codegen::cuda
