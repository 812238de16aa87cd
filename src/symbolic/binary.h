#pragma once
#include "symbolic/shapes.h"
#include "util/byte_stream.h"

namespace antegrad::symbolic {

void write(ByteWriter& out, const Shapes& shapes);
/// Inverse of write. Throws Error(Io) for bytes that are no shapes; dims name symbols of the shapes only.
Shapes read_shapes(ByteReader& in);

}  // namespace antegrad::symbolic
