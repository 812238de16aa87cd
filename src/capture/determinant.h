#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

namespace antegrad::capture {

/// Derivatives of linalg_det of higher order. LibTorch has a formula for regular matrices and one for
/// singular ones, and while a dispatch mode is on, takes the latter for all: it is not defined where singular
/// values are equal, as they are in its own derivatives. Here it is both of them, and a mask that says which
/// to take for which matrix: what eager does, without a choice by data.
class Determinants {
 public:
  /// The result of aten._linalg_det; its history is made when the op returns.
  void note(const at::Tensor& result);
  /// Gives the histories that have been made meanwhile this formula. Called before anything else is recorded.
  void watch() {
    if (!results_.empty()) watch_results();
  }

 private:
  void watch_results();
  std::vector<c10::weak_intrusive_ptr<c10::TensorImpl>> results_;
};

}  // namespace antegrad::capture
