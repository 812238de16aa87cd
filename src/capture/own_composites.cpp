// Composite ops that check the contents of their arguments on the host, although their results can be
// computed without: while a capture records, they are recorded in a form whose kernels make the checks.
#include <ATen/ops/one_hot_native.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include "capture/mode.h"

namespace antegrad::capture {
namespace {

/// With the number of classes given, LibTorch reads the smallest and the largest class only to check them; an
/// index out of range makes scatter_ throw.
at::Tensor one_hot(const at::Tensor& classes, int64_t count) {
  if (active_recorder() == nullptr || count <= 0 || classes.scalar_type() != at::kLong)
    return at::native::one_hot(classes, count);
  auto sizes = classes.sizes().vec();
  sizes.push_back(count);
  return at::zeros(sizes, classes.options()).scatter_(-1, classes.unsqueeze(-1), 1);
}

}  // namespace

// Not the key of composite kernels, which LibTorch's own kernel has.
TORCH_LIBRARY_IMPL(aten, AutogradCPU, library) { library.impl("one_hot", one_hot); }
TORCH_LIBRARY_IMPL(aten, AutogradCUDA, library) { library.impl("one_hot", one_hot); }

}  // namespace antegrad::capture
