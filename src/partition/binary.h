#pragma once
#include "partition/partition.h"
#include "util/byte_stream.h"

namespace antegrad::partition {

void write(ByteWriter& out, const Partition& partition);
/// The inverse of write. Throws Error(Io) for invalid bytes. Indices into both graphs are in range.
Partition read_partition(ByteReader& in);

}  // namespace antegrad::partition
