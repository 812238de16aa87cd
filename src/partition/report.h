#pragma once
#include <vector>

#include "ir/graph.h"
#include "partition/classify.h"
#include "partition/min_cut.h"
#include "partition/partition.h"
#include "partition/weights.h"

namespace antegrad::partition {

/// One decision for each value of the forward pass that the plan gives to the backward pass, by saving it or
/// by computing it again.
std::vector<Decision> explain(const ir::Graph& joint, const Classes& classes, const Limits& limits,
                              const Plan& plan);

}  // namespace antegrad::partition
