#pragma once
#include <cstdint>

#include "ir/graph.h"
#include "ir/ops.h"

namespace antegrad::partition {

// What values take and nodes cost. Symbolic sizes count with their likely value (Graph::hint_of): plans are
// made once for all sizes.

/// Of a dense tensor of that type; 0 for what is no tensor.
int64_t dense_bytes(const ir::Graph& graph, ir::ValueId id);

/// Of the memory that the value lives in, all of it: a view counts as much as its base.
int64_t storage_bytes(const ir::Graph& graph, ir::ValueId id);

int64_t bytes_read(const ir::Graph& graph, const ir::Node& node);
int64_t bytes_made(const ir::Graph& graph, const ir::Node& node);  ///< views make nothing

/// Floating-point operations, from the shapes: exact for products of matrices, convolutions and attention,
/// elements touched for all else.
double flops(const ir::Graph& graph, const ir::Node& node);

/// The row of ops.def; for ops without one a row that says Extern, Dear. Knows antegrad's own ops too.
ir::OpInfo op_info(const ir::Node& node);

}  // namespace antegrad::partition
