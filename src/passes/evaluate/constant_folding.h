#pragma once
#include "ir/graph.h"

namespace antegrad::passes {

/// Replaces nodes that compute small tensors from constants only by constants: factories, layout ops and
/// simple arithmetic on the CPU (see evaluate.h). Folds only if the result is certain to the bit and
/// contiguous, and no other graph output shares its memory. Wrapped numbers are neither folded nor read. Does
/// nothing on traced graphs.
bool constant_folding(ir::Graph& graph);

}  // namespace antegrad::passes
