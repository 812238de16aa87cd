#pragma once
#include <cstdint>
#include <vector>

#include "ir/graph.h"
#include "partition/classify.h"
#include "partition/weights.h"

namespace antegrad::partition {

/// Which nodes run in the backward pass, and what it gets from the forward pass. Together they give the
/// backward pass all that it reads; no node of the forward pass is left out of it.
struct Plan {
  ir::PerNode<bool> in_backward;   ///< those of the backward pass itself included
  std::vector<ir::ValueId> saved;  ///< in order of definition, inputs of the joint graph first
  int64_t weight = 0;              ///< of the saved values and of what is computed again
};

/// The plan of least weight. Solved as a minimal cut between what the forward pass has and what the backward
/// pass demands. Throws Error(InvalidArgument) when there is none, with the chain of values that can be
/// neither saved nor computed again.
Plan min_cut(const ir::Graph& joint, const Classes& classes, const Weights& weights);

}  // namespace antegrad::partition
