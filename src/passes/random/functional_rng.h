#pragma once
#include "ir/graph.h"

namespace antegrad::passes {

/// Makes random ops functions of a state: adds one input of role RngState, i64[2] "rng" (a seed and an
/// offset), after all others but the tangents, and replaces every node that draws from LibTorch's generator,
/// where random_draws.h knows how, by pure nodes `antegrad.random_…(%rng, offset, parameters)`. Their offsets
/// are such that no two share a counter of util/philox.h. Does nothing on graphs that have a state already,
/// and on those that are neither functional nor joint.
bool functional_rng(ir::Graph& graph);

}  // namespace antegrad::passes
