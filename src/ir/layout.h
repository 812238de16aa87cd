#pragma once
#include "ir/types.h"

namespace antegrad::ir {

/// Returns whether the elements are adjacent in memory, in some order of the dims; true for empty tensors.
/// Symbolic sizes are compared as expressions, so the answer holds for all their values.
bool is_dense(const TensorType& type);

}  // namespace antegrad::ir
