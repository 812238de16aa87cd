#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

namespace antegrad::capture {

/// Higher-order derivatives of linalg_det. LibTorch has one formula for regular matrices and one for singular
/// ones, and uses the latter for all while a dispatch mode is active. That one is undefined where singular
/// values are equal, as they are for the unitary factors in its own derivatives. Here both formulas are
/// recorded, and a mask selects one per matrix: eager's result without data-dependent control flow.
class Determinants {
 public:
  /// Remembers the result of aten._linalg_det, which gets its history after the op returns.
  void note(const at::Tensor& result);
  /// Installs this formula in the histories made since the last call. To be called before anything else is
  /// recorded.
  void watch() {
    if (!results_.empty()) watch_results();
  }

 private:
  void watch_results();
  std::vector<c10::weak_intrusive_ptr<c10::TensorImpl>> results_;
};

}  // namespace antegrad::capture
