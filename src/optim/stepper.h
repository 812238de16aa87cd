#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "antegrad/optim.h"
#include "optim/averages.h"
#include "optim/norms.h"
#include "optim/table.h"
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

  /// Norms and checks become those of several processes: `total` is called in all of them, with the norm of
  /// the own gradients and its type.
  using TotalNorm = std::function<double(double own, double type)>;
  void set_total_norm(TotalNorm total) { total_norm_ = std::move(total); }

  // A step whose gradients come one after the other, so that nothing can depend on all of them.
  bool may_be_made_in_parts() const;
  /// Prepares a step for the parameters for which `which` returns a tensor like their gradient. Returns
  /// false, and changes nothing, where step() has to be called instead. Afterwards nothing can fail.
  bool begin_parts(GradientOf which);
  void for_each_part(c10::function_ref<void(const Update&)> f) const;  ///< in the order of LibTorch's step
  void update_parts(c10::ArrayRef<int32_t> parts, c10::ArrayRef<at::Tensor> gradients);
  void finish_parts();   ///< ends a step all of whose parts were updated
  void abandon_parts();  ///< ends another step; state of parameters that were not updated is as before

  torch::optim::Optimizer& optimizer() const { return optimizer_; }
  const StepOptions& options() const { return options_; }
  const std::optional<Method>& method() const { return method_; }  ///< none for other classes
  const StepResult& last() const { return last_; }
  Report report() const;

 private:
  void step_compiled(GradientOf gradient_of, double multiplier);
  void run_kernels(Updates& updates);
  void run_function(Updates& updates);
  void step_eagerly(GradientOf gradient_of, double multiplier);
  /// Returns what gradients are multiplied by, or nothing when the step is to be skipped.
  std::optional<double> factor(const std::vector<Update>& updates, double multiplier);
  double total_norm(double own, double type);
  bool is_true_everywhere(bool here);
  /// Returns what gradients of this norm are multiplied by.
  double clip_factor(double norm);
  /// As factor(), for gradients that LibTorch's step() reads.
  std::optional<double> factor_of_own(const std::vector<at::Tensor>& parameters);
  const FlatKernel& kernel(const Formula& formula);
  void scale_and_clamp(std::vector<Update>& updates, double scale) const;

  struct Parts {
    std::vector<Update> list;
    std::vector<bool> updated;
    std::vector<void*> made;  ///< parameters that have state since this step
    std::optional<Averages> averages;
    std::optional<Table> table;
  };

  torch::optim::Optimizer& optimizer_;
  const StepOptions options_;
  const std::optional<Method> method_;
  const compiler::Lowering lowering_;
  Norms norms_;
  CompiledUpdates functions_;
  std::map<Formula, FlatKernel> kernels_;
  std::unique_ptr<Parts> parts_;
  TotalNorm total_norm_;
  bool has_communicated_ = false;  ///< in this step
  StepResult last_;
  Report report_;
};

}  // namespace antegrad::optim
