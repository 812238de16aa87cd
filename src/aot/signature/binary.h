#pragma once
#include "aot/signature/signature.h"
#include "util/byte_stream.h"

namespace antegrad::aot {

void write(ByteWriter& out, const Signature& signature);
/// The inverse of write(). Throws Error(Io) for invalid bytes. All slots, inputs and views that steps refer
/// to exist; what concerns the graph is left to check_signature().
Signature read_signature(ByteReader& in);

/// Throws Error(Io) unless the signature fits a graph whose forward half has these inputs and outputs, and
/// that takes `tangents` tangents.
void check_signature(const Signature& signature, const ir::Graph& forward, size_t tangents);

}  // namespace antegrad::aot
