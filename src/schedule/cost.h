#pragma once
#include <functional>

#include "schedule/kernel.h"

namespace antegrad::schedule {

using SizeOf = std::function<int64_t(const ir::Dim&)>;

/// Returns RunKernel::grain, estimated for the sizes that `size_of` returns.
int64_t grain_of(const Kernel& kernel, const SizeOf& size_of);

}  // namespace antegrad::schedule
