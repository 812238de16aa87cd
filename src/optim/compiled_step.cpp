#include "antegrad/error.h"
#include "antegrad/optim.h"
#include "optim/stepper.h"

namespace antegrad {
namespace {

StepOptions without_training(StepOptions options) {
  if (options.accumulate != 1 || options.scaler || options.autocast || options.gradients != Gradients::Drop ||
      options.data_parallel)
    throw Error(ErrorCode::InvalidArgument, "options",
                "gradients, accumulate, scaler, autocast and data_parallel are options of training_step",
                "Leave them as they are, or use training_step");
  return options;
}

}  // namespace

CompiledStep::CompiledStep(torch::optim::Optimizer& optimizer, StepOptions options)
    : stepper_(std::make_shared<optim::Stepper>(optimizer, without_training(std::move(options)))) {}

at::Tensor CompiledStep::operator()(const std::function<at::Tensor()>& closure) const {
  if (detail::capturing()) return stepper_->optimizer().step(closure);
  at::Tensor loss;
  if (closure) {
    const at::AutoGradMode grad_mode(true);
    loss = closure();
  }
  stepper_->step([](const at::Tensor& parameter) { return parameter.grad(); });
  return loss;
}

StepResult CompiledStep::last() const { return stepper_->last(); }
Report CompiledStep::report() const { return stepper_->report(); }

CompiledStep compiled_step(torch::optim::Optimizer& optimizer, StepOptions options) {
  return {optimizer, std::move(options)};
}

}  // namespace antegrad
