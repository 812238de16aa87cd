#pragma once
#include <functional>

#include "schedule/kernel.h"

namespace antegrad::schedule {

using SizeOf = std::function<int64_t(const ir::Dim&)>;

/// RunKernel::grain, for sizes that are, or probably are, those that size_of gives.
int64_t grain_of(const Kernel& kernel, const SizeOf& size_of);

}  // namespace antegrad::schedule
