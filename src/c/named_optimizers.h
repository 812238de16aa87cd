#pragma once
#include <torch/optim/optimizer.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace antegrad::c {

struct NamedOptimizer {
  std::unique_ptr<torch::optim::Optimizer> optimizer;
  /// Sets a hyperparameter of a group. Returns whether the optimizer has one of that name.
  bool (*set)(torch::optim::OptimizerOptions& options, std::string_view name, double value) = nullptr;
};

/// Returns an optimizer by the name of its class, with its defaults (SGD: lr = 0.001). Throws
/// Error(InvalidArgument) for other names.
NamedOptimizer make_optimizer(const std::string& name, const std::vector<at::Tensor>& parameters);

}  // namespace antegrad::c
