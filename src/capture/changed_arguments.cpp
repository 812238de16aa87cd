// The part of the recorder that judges changes of shape in place (t_, squeeze_).
#include <algorithm>

#include "capture/recorder.h"

namespace antegrad::capture {

/// Returns whether the op has only rearranged the dims of a tensor that the function has made, and that is
/// alone on its memory: nobody will see what it was before.
bool Recorder::is_rearranged_alone(const FakeTensor& tensor, const at::Tensor& meta) const {
  if (backward != nullptr || tape != nullptr || bodies > 0 || tensor.storage().use_count() > 1) return false;
  const auto root = tensor.value();
  const auto is_root = [&](const ir::Input& input) { return input.value == root; };
  return graph_.storage_of(root) == root && std::ranges::none_of(graph_.inputs, is_root) &&
         meta.numel() == tensor.numel() && meta.dtype() == tensor.dtype() &&
         meta.storage_offset() == tensor.storage_offset() && meta.is_non_overlapping_and_dense() &&
         graph_.tensor_type(root).is_contiguous();
}

}  // namespace antegrad::capture
