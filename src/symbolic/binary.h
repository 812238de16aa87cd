#pragma once
#include "symbolic/shapes.h"
#include "util/byte_stream.h"

namespace antegrad::symbolic {

void write(ByteWriter& out, const Shapes& shapes);
/// The inverse of write. Throws Error(Io) for invalid bytes. Dims refer only to symbols of the shapes.
Shapes read_shapes(ByteReader& in);

}  // namespace antegrad::symbolic
