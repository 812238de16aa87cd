#include "c/named_optimizers.h"

#include <fmt/format.h>

#include "antegrad/error.h"
#include "optim/optimizer_class.h"

namespace antegrad::c {

NamedOptimizer make_optimizer(const std::string& name, const std::vector<at::Tensor>& parameters) {
  const auto method = optim::method_named(name);
  if (!method)
    throw Error(ErrorCode::InvalidArgument, "c:trainer", fmt::format("there is no optimizer \"{}\"", name),
                "docs/c-api.md lists them");
  return {optim::make_optimizer(*method, {torch::optim::OptimizerParamGroup(parameters)}), *method};
}

bool set_hyperparameter(const NamedOptimizer& optimizer, const std::string& name, double value) {
  return optim::set_hyperparameter(optimizer.method, *optimizer.optimizer, name, value);
}

}  // namespace antegrad::c
