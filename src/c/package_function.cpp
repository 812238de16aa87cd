#include <ATen/ops/zeros_like.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>

#include "antegrad/error.h"
#include "antegrad/package.h"
#include "c/callable.h"
#include "c/trainer.h"

namespace antegrad::c {
namespace {

/// Gradients of a single result of one element; zeros where it does not depend on a variable.
ValueAndGradients differentiate_result(const std::vector<at::Tensor>& results,
                                       const std::vector<at::Tensor>& by) {
  if (results.size() != 1 || results[0].numel() != 1 || !results[0].requires_grad())
    throw Error(
        ErrorCode::InvalidArgument, "c:gradients",
        fmt::format("the function returns {} tensors", results.size()),
        "Only a function that returns one tensor of one element, with a history, has a gradient here");
  ValueAndGradients out{results[0].detach(),
                        torch::autograd::grad({results[0]}, by, {}, std::nullopt, false, true)};
  for (size_t i = 0; i < by.size(); ++i)
    if (!out.gradients[i].defined()) out.gradients[i] = at::zeros_like(by[i]);
  return out;
}

/// A function of a package; its weights are its state.
class PackageFunction : public antegrad_function {
 public:
  PackageFunction(Package package, const std::string& name)
      : package_(std::move(package)), function_(package_.function(name)), state_(package_.weights()) {
    for (const auto& example : function_.example())
      requires_grad_.push_back(example.defined() && example.requires_grad());
    std::stable_sort(state_.begin(), state_.end(), [](const auto& a, const auto& b) {
      return std::pair(!a.second.requires_grad(), a.first) < std::pair(!b.second.requires_grad(), b.first);
    });
  }

  std::vector<at::Tensor> call(std::vector<at::Tensor> inputs) const override {
    auto results = function_.call_tensors(variables_of(std::move(inputs)));
    for (auto& result : results)
      if (result.defined()) result = result.detach();
    return results;
  }

  ValueAndGradients value_and_gradients(std::vector<at::Tensor> inputs,
                                        const std::vector<int64_t>& wanted) const override {
    inputs = variables_of(std::move(inputs));
    std::vector<at::Tensor> by;
    for (const auto place : wanted) {
      by.push_back(inputs[place]);
      if (!by.back().requires_grad())
        throw Error(ErrorCode::InvalidArgument, "c:gradients",
                    fmt::format("input {} required no gradient when the function was packaged", place),
                    "Package the function after a call with an input that requires a gradient");
    }
    return differentiate_result(function_.call_tensors(inputs), by);
  }

  const State& state() const override { return state_; }

  ValueAndGradients value_and_state_gradients(std::vector<at::Tensor> inputs,
                                              const std::vector<std::string>& names) const override {
    std::vector<at::Tensor> by;
    for (const auto& name : names) {
      by.push_back(package_.weight(name));
      if (!by.back().requires_grad())
        throw Error(ErrorCode::InvalidArgument, "c:gradients",
                    fmt::format("\"{}\" requires no gradient", name), "Ask for gradients of parameters");
    }
    return differentiate_result(function_.call_tensors(variables_of(std::move(inputs))), by);
  }

  void save(const std::string& path) const override { package_.save(path); }

 private:
  /// Inputs that require gradients as those did that the function was packaged with.
  std::vector<at::Tensor> variables_of(std::vector<at::Tensor> inputs) const {
    for (size_t i = 0; i < inputs.size() && i < requires_grad_.size(); ++i)
      if (requires_grad_[i]) inputs[i] = inputs[i].detach().set_requires_grad(true);
    return inputs;
  }

  Package package_;
  PackagedFunction function_;
  State state_;
  std::vector<bool> requires_grad_;
};

/// A training step of a package, with the weights of that package.
class PackageTrainer : public antegrad_trainer {
 public:
  PackageTrainer(Package package, const std::string& name)
      : package_(std::move(package)), step_(package_.step(name)) {}

  void set(const std::string& name, double value) override {
    check_hyperparameter(name, value);
    step_.set(name, value);
  }
  std::vector<at::Tensor> train(const std::vector<at::Tensor>& inputs) override {
    return step_.call_tensors(inputs);
  }
  void save(const std::string& path) const override { package_.save(path); }
  void load(const std::string&) override {
    throw Error(ErrorCode::InvalidArgument, "c:trainer",
                "a training step of a package has its state in the package",
                "Load the package that antegrad_trainer_save() has written");
  }

 private:
  Package package_;
  PackagedStep step_;
};

Package load_package(const std::string& path, const Options& options) {
  PackageLoad load;
  load.options = options;
  load.strict = options.cache == Cache::Strict;
  return Package::load(path, load);
}

}  // namespace

std::unique_ptr<antegrad_trainer> load_package_step(const std::string& path, const std::string& name,
                                                    const Options& options) {
  auto package = load_package(path, options);
  const auto names = package.steps();
  return std::make_unique<PackageTrainer>(package, name.empty() && !names.empty() ? names.front() : name);
}

std::unique_ptr<antegrad_function> load_package_function(const std::string& path, const std::string& name,
                                                         const Options& options) {
  auto package = load_package(path, options);
  const auto names = package.functions();
  return std::make_unique<PackageFunction>(package, name.empty() && !names.empty() ? names.front() : name);
}

}  // namespace antegrad::c
