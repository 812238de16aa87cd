#pragma once
#include <torch/optim/optimizer.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "optim/formula.h"

// Optimizers by the names of their classes, and what they consist of: hyperparameters and state.
namespace antegrad::optim {

/// Is shown the fields of options or of a state, which it may read and write. Of tuples, each element is a
/// field: beta1 and beta2 of `betas`.
class FieldVisitor {
 public:
  virtual ~FieldVisitor() = default;
  virtual void visit(const std::string& name, double& field) = 0;
  virtual void visit(const std::string& name, std::optional<double>& field) = 0;
  virtual void visit(const std::string& name, bool& field) = 0;
  virtual void visit(const std::string& name, int64_t& field) = 0;
  virtual void visit(const std::string& name, at::Tensor& field) = 0;
};

/// Returns the name of the class, without its namespace: "AdamW".
const char* class_name(Method method);
/// Returns the method of a class, or nothing for another name.
std::optional<Method> method_named(std::string_view name);

/// Makes an optimizer with default hyperparameters (SGD: lr = 0.001).
std::unique_ptr<torch::optim::Optimizer> make_optimizer(
    Method method, const std::vector<torch::optim::OptimizerParamGroup>& groups = {});
std::unique_ptr<torch::optim::OptimizerParamState> make_state(Method method);

// `options` and `state` must be those of an optimizer of that method.
void visit_options(Method method, torch::optim::OptimizerOptions& options, FieldVisitor& visitor);
/// Throws c10::Error for options that the classes of <antegrad/optimizers.h> refuse.
void check_options(Method method, const torch::optim::OptimizerOptions& options);
/// Sets a hyperparameter of all groups. Returns whether the optimizer has one of that name.
bool set_hyperparameter(Method method, torch::optim::Optimizer& optimizer, const std::string& name,
                        double value);
void visit_state(Method method, torch::optim::OptimizerParamState& state, FieldVisitor& visitor);

}  // namespace antegrad::optim
