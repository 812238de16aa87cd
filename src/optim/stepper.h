#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "antegrad/optim.h"
#include "optim/averages.h"
#include "optim/device_kernels.h"
#include "optim/device_table.h"
#include "optim/norms.h"
#include "optim/table.h"
#include "optim/update_code.h"
#include "optim/update_kernel.h"
#include "optim/updates.h"

namespace antegrad::optim {

/// Makes steps of one optimizer.
class Stepper {
 public:
  /// `code`: where it takes code from; null for code that is compiled.
  Stepper(torch::optim::Optimizer& optimizer, StepOptions options,
          std::shared_ptr<UpdateCode> code = nullptr);

  /// A step with these gradients, multiplied by a number first, and divided by the scale of a scaler that is
  /// on a CUDA device. When it throws, nothing has changed, unless LibTorch's own step() did.
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

  /// Compiles the kernels of a step for the parameters for which `which` returns a tensor like their
  /// gradient, so that they are among those of code(), unless a step has done so. Throws what step() throws.
  void prepare_kernels(GradientOf which);

  torch::optim::Optimizer& optimizer() const { return optimizer_; }
  const StepOptions& options() const { return options_; }
  const std::optional<Method>& method() const { return method_; }  ///< none for other classes
  /// Waits for the device where it decided what happened.
  StepResult last() const;
  /// Returns 1 if the last step was skipped, else 0: f32, where it was decided.
  at::Tensor skipped() const;
  const UpdateCode& code() const { return *code_; }
  Report report() const;

 private:
  void step_compiled(GradientOf gradient_of, double multiplier);
  void run_kernels(Updates& updates, const at::Tensor& control);
  void run_function(Updates& updates);
  void step_eagerly(GradientOf gradient_of, double multiplier);
  /// Returns what gradients are multiplied by, or nothing when the step is to be skipped.
  std::optional<double> factor(const std::vector<Update>& updates, double multiplier);
  /// Whether the device finds that out, so that nothing waits for it.
  bool device_decides(const std::vector<Update>& updates) const;
  at::Tensor control_of(const std::vector<Update>& updates, double multiplier);
  double norm_of(const std::vector<Update>& updates, double type);
  bool all_finite(const std::vector<Update>& updates);
  /// Divides by the scale of a scaler on a CUDA device, for which it waits.
  double unscaled(double multiplier) const;
  std::unique_ptr<UpdateTable> table_of(std::vector<Update>& updates, const at::Tensor& control);
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
    std::unique_ptr<UpdateTable> table;
  };
  /// What the device decided about the last step.
  struct Decision {
    at::Tensor control;
    c10::Stream stream;
  };

  torch::optim::Optimizer& optimizer_;
  const StepOptions options_;
  const std::optional<Method> method_;
  const std::shared_ptr<UpdateCode> code_;
  Norms norms_;
  std::map<Formula, FlatKernel> kernels_;
  const compiler::Lowering lowering_;  ///< for CUDA devices
  DeviceKernels device_kernels_;
  std::unique_ptr<Parts> parts_;
  TotalNorm total_norm_;
  bool has_communicated_ = false;  ///< in this step
  mutable StepResult last_;
  std::optional<Decision> decision_;
  mutable bool is_read_ = true;  ///< last_ has what decision_ says
  Report report_;
};

}  // namespace antegrad::optim
