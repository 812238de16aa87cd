#pragma once
#include "ir/graph.h"

namespace antegrad::passes {

/// Makes random ops functions of a state: adds one input of role RngState, i64[2] "rng" (a seed and an
/// offset), after all others but the tangents, and replaces every node that draws from LibTorch's generator, where random_draws.h knows how, by
/// pure nodes `antegrad.random_…(%rng, offset, parameters)`. Their offsets are such that no two share a
/// counter of util/philox.h. A graph without such nodes, a traced one, and one that has a state already stay
/// as they are.
bool functional_rng(ir::Graph& graph);

}  // namespace antegrad::passes
