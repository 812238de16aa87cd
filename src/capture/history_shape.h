#pragma once
#include <cstdint>
#include <vector>

#include "capture/gradients.h"

namespace antegrad::capture {

/// Autograd's graph behind the results of a captured function, from the roots to the targets, as numbers. It
/// is equal for two runs whose graphs have nodes of the same types, joined in the same way.
struct HistoryShape {
  std::vector<uint64_t> shape;
  /// Whether the backward pass depends on nothing but the recorded ops: every node is LibTorch's own, and
  /// none has hooks.
  bool plain = true;
  bool operator==(const HistoryShape&) const = default;
};

HistoryShape history_shape_of(const std::vector<GradRoot>& roots, const std::vector<GradTarget>& targets);

}  // namespace antegrad::capture
