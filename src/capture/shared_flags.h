#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

#include "capture/capture.h"

namespace antegrad::capture {

/// Throws Error(NeedsGrad) where the function changes requires_grad of a tensor that it has under another
/// name too: as an argument and as a captured tensor, or as the base of one. A capture gives each graph input
/// an autograd state of its own, so that the other name would keep the old one. `inputs`: the user's. To be
/// called when the trace has its graph.
void check_shared_flags(const Trace& trace, const std::vector<at::Tensor>& inputs);

}  // namespace antegrad::capture
