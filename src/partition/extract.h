#pragma once
#include <vector>

#include "ir/graph.h"
#include "partition/classify.h"
#include "partition/min_cut.h"
#include "partition/partition.h"

namespace antegrad::partition {

/// Builds both graphs of a plan, without dead code. Effects of the forward pass stay in the forward graph.
/// Values that need a copy are copied at the end of the forward graph. Sets forward, backward, saved and
/// saved_bytes.
Partition extract(const ir::Graph& joint, const Classes& classes, const Plan& plan);

/// The nodes that run in the backward pass, in order: its own nodes as recorded, recomputed ones right before
/// their first use.
std::vector<ir::NodeId> backward_order(const ir::Graph& joint, const Classes& classes, const Plan& plan);

}  // namespace antegrad::partition
