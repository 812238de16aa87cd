#pragma once
#include "ir/graph.h"

namespace antegrad::passes {

/// Makes random ops functions of a state: adds an input of role RngState, i64[2] "rng" (a seed and an
/// offset), after all others except the tangents, and replaces every node that draws from LibTorch's
/// generator, if random_draws.h supports it, by pure nodes `antegrad.random_…(%rng, offset, parameters)`. The
/// offsets ensure that no two nodes share a counter of util/philox.h. Does nothing on graphs that already
/// have a state or are neither functional nor joint.
bool functional_rng(ir::Graph& graph);

}  // namespace antegrad::passes
