#pragma once
#include "ir/graph.h"
#include "partition/classify.h"
#include "partition/partition.h"
#include "partition/weights.h"

namespace antegrad::partition {

/// Computes a partition under the limits: weights, minimum cut, graphs, peak and decisions.
Partition apply_plan(const ir::Graph& joint, const Classes& classes, const Limits& limits);

}  // namespace antegrad::partition
