#pragma once
#include "ir/graph.h"

namespace antegrad::passes {

/// Moves a gather of few elements of a tensor on a CUDA device before the pointwise ops that compute its
/// source: the elements are read first and computed on then, so that nothing need compute and store the whole
/// source. A cross entropy, for instance, picks one element of each row of a log-softmax.
bool gather_early(ir::Graph& graph);

}  // namespace antegrad::passes
