#pragma once
#include <vector>

#include "ir/graph.h"
#include "partition/classify.h"
#include "partition/min_cut.h"
#include "partition/partition.h"
#include "partition/weights.h"

namespace antegrad::partition {

/// Returns one decision for each value of the forward pass that the plan provides to the backward pass, by
/// saving or recomputing it.
std::vector<Decision> explain(const ir::Graph& joint, const Classes& classes, const Limits& limits,
                              const Plan& plan);

}  // namespace antegrad::partition
