#pragma once
#include "schedule/program.h"
#include "util/byte_stream.h"

namespace antegrad::schedule {

void write(ByteWriter& out, const Program& program);
/// Inverse of write(). Throws Error(Io) for bytes that do not encode a program; all indices of values, nodes,
/// kernels, buffers, loops and scalars in the result are in range.
Program read_program(ByteReader& in);

void write(ByteWriter& out, const Kernel& kernel);
Kernel read_kernel(ByteReader& in);

}  // namespace antegrad::schedule
