#pragma once
#include <map>
#include <utility>
#include <vector>

#include "optim/update_code.h"
#include "optim/update_kernel.h"
#include "optim/updates.h"

namespace antegrad::optim {

/// Computes norms over all gradients together.
class Norms {
 public:
  explicit Norms(UpdateCode& code) : code_(code) {}

  /// As torch::nn::utils::clip_grad_norm_, but sums of more than 1024 elements are accumulated in double.
  double total(const std::vector<Update>& updates, double type);
  /// Whether all elements are finite.
  bool all_finite(const std::vector<Update>& updates);

 private:
  enum class Kind { Max, Sum, Squares, Powers };
  double accumulate(const std::vector<Update>& updates, Kind kind, double type);
  const FlatKernel& kernel(Kind kind, ir::DType dtype);

  UpdateCode& code_;
  std::map<std::pair<Kind, ir::DType>, FlatKernel> kernels_;
};

}  // namespace antegrad::optim
