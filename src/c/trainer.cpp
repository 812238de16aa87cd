#include "c/trainer.h"

#include <fmt/format.h>
#include <torch/serialize.h>

#include <cmath>
#include <optional>
#include <utility>

#include "antegrad/error.h"
#include "antegrad/optim.h"
#include "c/named_optimizers.h"

namespace antegrad::c {
namespace {

/// What a trained program returns, the loss first.
struct Results {
  Program program;
  std::vector<at::Tensor> operator()(const std::vector<at::Tensor>& inputs) const {
    Leaves leaves;
    flatten(program({inputs.begin(), inputs.end()}), leaves);
    return {leaves.tensors.begin(), leaves.tensors.end()};
  }
};

/// Parameters require gradients for its lifetime: outside of steps, programs of this API compute none.
class WithGradients {
 public:
  explicit WithGradients(const std::vector<at::Tensor>& parameters) : parameters_(parameters) { set(true); }
  ~WithGradients() { set(false); }
  WithGradients(const WithGradients&) = delete;
  WithGradients& operator=(const WithGradients&) = delete;

 private:
  void set(bool value) {
    for (const auto& parameter : parameters_)
      if (parameter.is_floating_point()) parameter.set_requires_grad(value);
  }
  const std::vector<at::Tensor>& parameters_;
};

class Trainer : public antegrad_trainer {
 public:
  Trainer(const Program& program, const std::string& optimizer, const Options& options)
      : program_(program),
        parameters_(program_.parameters()),
        optimizer_(make_optimizer(optimizer, parameters_)) {
    options_.options = options;
  }

  void set(const std::string& name, double value) override {
    check_hyperparameter(name, value);
    if (set_of_step(name, value)) return step_.reset();
    if (!set_hyperparameter(optimizer_, name, value))
      throw Error(ErrorCode::InvalidArgument, "c:trainer",
                  fmt::format("neither the optimizer nor the step has a number \"{}\"", name),
                  "docs/c-api.md lists them");
  }

  std::vector<at::Tensor> train(const std::vector<at::Tensor>& inputs) override {
    const WithGradients gradients(parameters_);
    if (!step_) step_.emplace(Results{program_}, *optimizer_.optimizer, options_);
    return (*step_)(inputs);
  }

  void save(const std::string& path) const override { torch::save(*optimizer_.optimizer, path); }
  void load(const std::string& path) override { torch::load(*optimizer_.optimizer, path); }

 private:
  /// Returns whether the step has a number of that name.
  bool set_of_step(const std::string& name, double value) {
    if (name == "clip_norm")
      options_.clip_norm = value;
    else if (name == "clip_value")
      options_.clip_value = value;
    else if (name == "skip_nonfinite")
      options_.skip_nonfinite = value != 0;
    else
      return false;
    return true;
  }

  Program program_;
  std::vector<at::Tensor> parameters_;
  NamedOptimizer optimizer_;
  StepOptions options_;
  std::optional<TrainingStep<Results>> step_;
};

}  // namespace

void check_hyperparameter(const std::string& name, double value) {
  if (!std::isfinite(value) || (value < 0 && name != "beta2_decay"))
    throw Error(ErrorCode::InvalidArgument, "c:trainer", fmt::format("\"{}\" is set to {}", name, value),
                "Give a finite number that is not negative");
}

std::unique_ptr<antegrad_trainer> make_trainer(const Program& program, const std::string& optimizer,
                                               const Options& options) {
  return std::make_unique<Trainer>(program, optimizer, options);
}

}  // namespace antegrad::c
