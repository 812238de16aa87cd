#pragma once
#include <vector>

#include "capture/backward.h"
#include "capture/kept.h"

namespace antegrad::capture {

/// Returns the leaves that the function has made itself (requires_grad_()) and that gradients of these roots
/// reach.
std::vector<const c10::TensorImpl*> inner_leaves(const Recorder& recorder, const Arguments& arguments,
                                                 const std::vector<GradRoot>& roots);

/// Throws Error(NeedsGrad) if the function has stored one of these leaves: a call would have to fill its
/// .grad.
void check_stored_leaves(const KeptTensors& kept, const std::vector<const c10::TensorImpl*>& leaves);

}  // namespace antegrad::capture
