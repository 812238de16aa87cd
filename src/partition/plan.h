#pragma once
#include "ir/graph.h"
#include "partition/classify.h"
#include "partition/partition.h"
#include "partition/weights.h"

namespace antegrad::partition {

/// Weights, cut, graphs, peak and reasons under the limits.
Partition carry_out(const ir::Graph& joint, const Classes& classes, const Limits& limits);

}  // namespace antegrad::partition
