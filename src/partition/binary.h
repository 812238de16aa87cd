#pragma once
#include "partition/partition.h"
#include "util/byte_stream.h"

namespace antegrad::partition {

void write(ByteWriter& out, const Partition& partition);
/// Inverse of write. Throws Error(Io) for bytes that are no partition; indices into both graphs are in range.
Partition read_partition(ByteReader& in);

}  // namespace antegrad::partition
