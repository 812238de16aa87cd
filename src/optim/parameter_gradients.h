#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

namespace antegrad::optim {

/// Throws Error(NeedsGrad) for a parameter with hooks: a gradient that does not go through autograd's engine
/// to its leaf reaches none of them.
void refuse_hooks(const at::Tensor& parameter);

/// Returns gradients as autograd's engine leaves them in `.grad`: laid out like their parameters, in memory
/// that nothing else uses. Backward formulas may return one tensor for several parameters, or one that they
/// have read.
std::vector<at::Tensor> own_gradients(const std::vector<at::Tensor>& gradients,
                                      const std::vector<at::Tensor>& parameters);

/// The same for gradients that are read once and then dropped: in memory that only they use, in any layout.
std::vector<at::Tensor> gradients_apart(const std::vector<at::Tensor>& gradients);

/// Returns the leaf among `leaves` that the history of a tensor leads to, or null.
const at::Tensor* leaf_of(const at::Tensor& tensor, const std::vector<at::Tensor>& leaves);

}  // namespace antegrad::optim
