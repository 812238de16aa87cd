#pragma once
#include "ir/binary.h"
#include "schedule/kernel.h"

namespace antegrad::schedule {

// Encode a kernel within a larger message whose tables (`ir::Encoder`) it shares. For a kernel alone use
// binary.h.
void write_kernel(ir::Encoder& to, const Kernel& kernel);
Kernel read_kernel(ir::Decoder& from);  ///< its dims contain only the kernel's own symbols

}  // namespace antegrad::schedule
