#pragma once
#include <torch/optim/optimizer.h>

#include <memory>
#include <string>
#include <vector>

#include "optim/formula.h"

namespace antegrad::c {

struct NamedOptimizer {
  std::unique_ptr<torch::optim::Optimizer> optimizer;
  optim::Method method = optim::Method::Sgd;
};

/// Returns an optimizer by the name of its class, with its defaults (SGD: lr = 0.001). Throws
/// Error(InvalidArgument) for other names.
NamedOptimizer make_optimizer(const std::string& name, const std::vector<at::Tensor>& parameters);
/// Sets a hyperparameter of all groups. Returns whether the optimizer has one of that name.
bool set_hyperparameter(const NamedOptimizer& optimizer, const std::string& name, double value);

}  // namespace antegrad::c
