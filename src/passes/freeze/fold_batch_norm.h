#pragma once
#include "ir/graph.h"

namespace antegrad::passes {

/// Makes a batch norm of running statistics part of the weights of the convolution or product before it, if
/// all of these are constants of a frozen function (constants.h).
bool fold_batch_norm(ir::Graph& graph);

}  // namespace antegrad::passes
