#pragma once
#include "ir/types.h"

namespace antegrad::ir {

/// Elements are next to each other in memory, in some order of the dims; also where there are none. With
/// symbolic sizes: by form, so for all of them.
bool is_dense(const TensorType& type);

}  // namespace antegrad::ir
