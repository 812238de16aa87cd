#pragma once
#include "schedule/kernel.h"

namespace antegrad::runtime {

/// Returns whether an output of a kernel may take over the memory of an input: each element is read by the
/// very iteration that writes it, before the write, or by an earlier section of the same iteration of the
/// outer loops. Both are indices in Kernel::buffers.
bool may_overwrite(const schedule::Kernel& kernel, int32_t input, int32_t output,
                   const std::vector<int64_t>& symbols = {});

/// Returns whether the kernel may find an index that is out of range.
bool may_fail(const schedule::Kernel& kernel);

}  // namespace antegrad::runtime
