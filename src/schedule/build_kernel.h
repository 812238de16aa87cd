#pragma once
#include "schedule/fusion.h"

namespace antegrad::schedule {

struct BuiltKernel {
  Kernel kernel;
  /// As RunKernel::buffers. Not valid: memory that only the kernel uses, for the caller to make a value for.
  std::vector<ir::ValueId> buffers;
};

/// `stored`: per value, whether it is in memory for others to read.
BuiltKernel build_kernel(const Fusion& fusion, GroupId group, const ir::PerValue<bool>& stored);

}  // namespace antegrad::schedule
