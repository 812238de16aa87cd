#pragma once
#include "ir/graph.h"

namespace antegrad::passes {

/// A batch norm in training mode does not read the running statistics to compute its result, nor its
/// gradients, but its backward op takes them. Leaves them out there: else they would be copied before each
/// update.
bool unread_statistics(ir::Graph& graph);

/// Whether an input of the node changes nothing but the new running statistics that it computes.
bool is_unread_statistic(const ir::Node& node, size_t arg);

}  // namespace antegrad::passes
