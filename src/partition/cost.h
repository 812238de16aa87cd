#pragma once
#include <cstdint>

#include "ir/graph.h"
#include "ir/ops.h"

namespace antegrad::partition {

// Memory of values and cost of nodes. Symbolic sizes count with their likely value (Graph::hint_of): plans
// are made once for all sizes.

/// The bytes of a dense tensor of that type; 0 for other types.
int64_t dense_bytes(const ir::Graph& graph, ir::ValueId id);

/// The bytes of the whole storage of the value: a view counts as much as its base.
int64_t storage_bytes(const ir::Graph& graph, ir::ValueId id);

int64_t bytes_read(const ir::Graph& graph, const ir::Node& node);
int64_t bytes_made(const ir::Graph& graph, const ir::Node& node);  ///< does not count views

/// Floating-point operations, estimated from the shapes: exact for matrix products, convolutions and
/// attention, the number of elements touched for everything else.
double flops(const ir::Graph& graph, const ir::Node& node);

/// The row of ops.def, or one for antegrad's own ops. Ops without a row count as Extern and Expensive.
ir::OpInfo op_info(const ir::Node& node);

}  // namespace antegrad::partition
