#include "antegrad/optimizers.h"

#include "optim/tensor_update.h"
#include "optim/updates.h"

namespace antegrad {
namespace {

void check_betas(const std::tuple<double, double>& betas) {
  const auto [beta1, beta2] = betas;
  TORCH_CHECK(0 <= beta1 && beta1 < 1, "Invalid beta parameter at index 0: ", beta1);
  TORCH_CHECK(0 <= beta2 && beta2 < 1, "Invalid beta parameter at index 1: ", beta2);
}

void check_rates(double lr, double weight_decay) {
  TORCH_CHECK(lr >= 0, "Invalid learning rate: ", lr);
  TORCH_CHECK(weight_decay >= 0, "Invalid weight_decay value: ", weight_decay);
}

}  // namespace

void LionOptions::check() const {
  check_rates(lr(), weight_decay());
  check_betas(betas());
}

void NAdamOptions::check() const {
  check_rates(lr(), weight_decay());
  check_betas(betas());
  TORCH_CHECK(eps() >= 0, "Invalid epsilon value: ", eps());
  TORCH_CHECK(momentum_decay() >= 0, "Invalid momentum_decay value: ", momentum_decay());
}

void LambOptions::check() const {
  check_rates(lr(), weight_decay());
  check_betas(betas());
  TORCH_CHECK(eps() >= 0, "Invalid epsilon value: ", eps());
}

void AdafactorOptions::check() const {
  check_rates(lr(), weight_decay());
  TORCH_CHECK(beta2_decay() <= 0, "Invalid beta2_decay value: ", beta2_decay());
  TORCH_CHECK(eps1().value_or(0) >= 0, "Invalid epsilon1 value: ", eps1().value_or(0));
  TORCH_CHECK(eps2() >= 0, "Invalid epsilon2 value: ", eps2());
  TORCH_CHECK(d() >= 1, "Invalid d value: ", d());
}

void MuonOptions::check() const {
  check_rates(lr(), weight_decay());
  TORCH_CHECK(momentum() >= 0, "Invalid momentum value: ", momentum());
  TORCH_CHECK(0 <= ns_steps() && ns_steps() < 100, "Invalid ns_steps value: ", ns_steps());
  TORCH_CHECK(at::isFloatingType(ns_dtype()), "Invalid ns_dtype value: ", ns_dtype());
}

void MuonOptions::check_parameter(const at::Tensor& parameter) {
  TORCH_CHECK(parameter.dim() == 2, "Muon updates matrices; a parameter has sizes ", parameter.sizes());
}

at::Tensor detail::step_op_by_op(torch::optim::Optimizer& optimizer,
                                 const torch::optim::Optimizer::LossClosure& closure) {
  at::Tensor loss;
  if (closure) {
    const at::AutoGradMode grad_mode(true);
    loss = closure();
  }
  const auto method = optim::method_of(optimizer);
  TORCH_CHECK(method, "A class that is derived from an optimizer has to define step() itself");
  const at::NoGradGuard no_grad;
  auto updates = optim::eager_updates_of(optimizer, *method,
                                         [](const at::Tensor& parameter) { return parameter.grad(); });
  optim::hand_over(std::move(updates.made), optimizer);
  for (const auto& update : updates.list) {
    optim::apply_to_tensors(update);
    optim::count(update);
  }
  return loss;
}

}  // namespace antegrad
