#pragma once
#include "ir/graph.h"

namespace antegrad::passes {

/// Removes the running statistics from the arguments of batch norm backward ops in training mode, which take
/// but do not read them. Otherwise they would be copied before each update.
bool unread_statistics(ir::Graph& graph);

/// Whether argument `arg` of the node affects nothing but the new running statistics that the node computes.
bool is_unread_statistic(const ir::Node& node, size_t arg);

}  // namespace antegrad::passes
