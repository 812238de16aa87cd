#pragma once
#include "antegrad/options.h"
#include "ir/graph.h"
#include "partition/classify.h"
#include "partition/partition.h"
#include "partition/weights.h"

namespace antegrad::partition {

/// The plan of one fixed set of plans that computes least again and fits the budget. The set does not depend
/// on the budget, so more memory never gives a plan that computes more. Throws Error(InvalidArgument) naming
/// the smallest budget when none fits.
Partition fit_budget(const ir::Graph& joint, const Classes& classes, const ir::PerValue<Keep>& keep,
                     const MemoryBudget& budget);

}  // namespace antegrad::partition
