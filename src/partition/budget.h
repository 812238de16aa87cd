#pragma once
#include "antegrad/options.h"
#include "ir/graph.h"
#include "partition/classify.h"
#include "partition/partition.h"
#include "partition/weights.h"

namespace antegrad::partition {

/// Chooses, from a fixed set of plans, the one that fits the budget and recomputes least. The set does not
/// depend on the budget, so that a larger budget never leads to more recomputation. If no plan fits, throws
/// Error(InvalidArgument) with the smallest possible budget.
Partition fit_budget(const ir::Graph& joint, const Classes& classes, const ir::PerValue<Keep>& keep,
                     const MemoryBudget& budget);

}  // namespace antegrad::partition
