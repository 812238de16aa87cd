#pragma once
#include "codegen/cuda/mapping.h"

namespace antegrad::codegen::cuda {

Mapping::Form form_of(const schedule::Kernel& kernel);

/// Whether the columns of a row need not be run by one block: nothing is done once per row, and all
/// accumulators are those of one column.
bool has_free_columns(const schedule::Kernel& kernel);

}  // namespace antegrad::codegen::cuda
