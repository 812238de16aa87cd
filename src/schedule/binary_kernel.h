#pragma once
#include "ir/binary.h"
#include "schedule/kernel.h"

namespace antegrad::schedule {

// Kernels among other things that are written with the same tables. Use binary.h otherwise.
void write_kernel(ir::Encoder& to, const Kernel& kernel);
Kernel read_kernel(ir::Decoder& from);  ///< its dims name its own symbols only

}  // namespace antegrad::schedule
