#pragma once
#include <map>
#include <vector>

#include "antegrad/optim.h"
#include "optim/norms.h"
#include "optim/update_function.h"
#include "optim/update_kernel.h"
#include "optim/updates.h"

namespace antegrad::optim {

/// Makes steps of one optimizer.
class Stepper {
 public:
  Stepper(torch::optim::Optimizer& optimizer, StepOptions options);

  /// A step with these gradients, multiplied by a number first. When it throws, nothing has changed, unless
  /// LibTorch's own step() did.
  void step(GradientOf gradient_of, double multiplier = 1);

  torch::optim::Optimizer& optimizer() const { return optimizer_; }
  const StepOptions& options() const { return options_; }
  const StepResult& last() const { return last_; }
  Report report() const;

 private:
  void step_compiled(GradientOf gradient_of, double multiplier);
  void run_kernels(Updates& updates);
  void run_function(Updates& updates);
  void step_eagerly(GradientOf gradient_of, double multiplier);
  /// Returns what gradients are multiplied by, or nothing when the step is to be skipped.
  std::optional<double> factor(const std::vector<Update>& updates, double multiplier);
  const FlatKernel& kernel(const Formula& formula);

  torch::optim::Optimizer& optimizer_;
  const StepOptions options_;
  const std::optional<Method> method_;
  const compiler::Lowering lowering_;
  Norms norms_;
  CompiledUpdates functions_;
  std::map<Formula, FlatKernel> kernels_;
  StepResult last_;
  Report report_;
};

}  // namespace antegrad::optim
