#pragma once
#include <cstdint>
#include <vector>

#include "ir/graph.h"
#include "partition/classify.h"
#include "partition/weights.h"

namespace antegrad::partition {

/// Which nodes run in the backward pass, and which values it gets from the forward pass; together these
/// provide everything it reads. Recomputed nodes still run in the forward pass if that needs them.
struct Plan {
  ir::PerNode<bool> in_backward;   ///< including the backward pass's own nodes
  std::vector<ir::ValueId> saved;  ///< in order of definition, inputs of the joint graph first
  int64_t weight = 0;              ///< of saved values and recomputed nodes
};

/// Returns the plan of least weight, found as a minimum cut between what the forward pass has and what the
/// backward pass demands. If there is none, throws Error(InvalidArgument) with the chain of values that can
/// be neither saved nor recomputed.
Plan min_cut(const ir::Graph& joint, const Classes& classes, const Weights& weights);

}  // namespace antegrad::partition
