#pragma once
#include <vector>

#include "optim/updates.h"

namespace antegrad::optim {

/// Updates a parameter and its state by LibTorch's ops: the eager step of optimizers, and what is recorded of
/// them in graphs. Each tensor is written once, after everything has been read. Must be called without grad
/// mode.
void apply_to_tensors(const Update& update);

/// The same with numbers that are not known yet: `numbers` is f64[kNumbers].
void apply_to_tensors(const Update& update, const at::Tensor& numbers);

}  // namespace antegrad::optim
