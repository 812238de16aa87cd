#pragma once
#include "schedule/fusion.h"

namespace antegrad::schedule {

struct BuiltKernel {
  Kernel kernel;
  /// As RunKernel::buffers. An invalid id stands for memory that only the kernel uses; the caller adds a
  /// value for it.
  std::vector<ir::ValueId> buffers;
};

/// Builds the kernel of a group. `stored` says for each value whether it must be written to memory for other
/// readers.
BuiltKernel build_kernel(const Fusion& fusion, GroupId group, const ir::PerValue<bool>& stored);

}  // namespace antegrad::schedule
