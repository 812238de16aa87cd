#pragma once
// Compiled steps of LibTorch's optimizers: docs/training-steps.md.
#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <optional>

#include "antegrad/function.h"
#include "antegrad/options.h"

namespace torch::optim {
class Optimizer;
}
namespace antegrad::optim {
class Stepper;
}

namespace antegrad {

/// Options of compiled_step().
struct StepOptions {
  Options options;                   ///< how code is made: backend, isa, toolchain, cache, unsupported, …
  std::optional<double> clip_norm;   ///< the most that the norm of all gradients together may be
  double norm_type = 2;              ///< which norm: 2, 1, any other positive number, or infinity
  bool error_if_nonfinite = false;   ///< with clip_norm: throws when the norm is infinite or NaN
  std::optional<double> clip_value;  ///< the most that an element of a gradient may be, in absolute value
  bool skip_nonfinite = false;       ///< leaves everything as it is when a gradient is infinite or NaN
};

/// What happened in the last step.
struct StepResult {
  double gradient_norm = 0;  ///< with clip_norm: the norm before clipping
  bool skipped = false;      ///< with skip_nonfinite: nothing was updated
};

/// The step of an optimizer, compiled. Refers to the optimizer, which must outlive it and stays the owner of
/// parameters, hyperparameters and state. Not thread-safe, like the optimizer. Copies share everything.
class CompiledStep {
 public:
  /// Equivalent to compiled_step(optimizer, options).
  CompiledStep(torch::optim::Optimizer& optimizer, StepOptions options);

  /// Does what optimizer.step(closure) does, for the gradients in `.grad` and the hyperparameters that the
  /// optimizer has now. Returns what the closure returns. If it throws, nothing has changed.
  at::Tensor operator()(const std::function<at::Tensor()>& closure = nullptr) const;

  StepResult last() const;  ///< what happened in the last step
  Report report() const;    ///< calls, captures (formulas that were compiled) and eager calls

 private:
  std::shared_ptr<optim::Stepper> stepper_;
};

/// Compiles the step of a torch::optim::{SGD, Adam, AdamW, Adagrad, RMSprop}. Other classes are refused
/// (Error(UnsupportedArgument)), or keep their own step() with Options::unsupported = Eager.
CompiledStep compiled_step(torch::optim::Optimizer& optimizer, StepOptions options = {});

}  // namespace antegrad
