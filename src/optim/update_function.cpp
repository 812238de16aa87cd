#include "optim/update_function.h"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "optim/tensor_update.h"

namespace antegrad::optim {

void UpdateFunction::operator()(const std::vector<at::Tensor>& parameters,
                                const std::vector<at::Tensor>& gradients,
                                const std::vector<at::Tensor>& states, const at::Tensor& numbers) const {
  const at::NoGradGuard no_grad;
  auto state = states.begin();
  for (size_t i = 0; i < formulas.size(); ++i) {
    Update update;
    update.formula = formulas[i];
    update.parameter = parameters[i];
    update.gradient = gradients[i];
    for (auto n = optim::states(formulas[i]); n > 0; --n) update.state.push_back(*state++);
    apply_to_tensors(update, numbers.select(0, static_cast<int64_t>(i)));
  }
}

at::Tensor numbers_of(const std::vector<Update>& updates) {
  auto numbers = at::empty({static_cast<int64_t>(updates.size()), kNumbers}, at::kDouble);
  auto* next = numbers.mutable_data_ptr<double>();
  for (const auto& update : updates) next = std::copy(update.numbers.begin(), update.numbers.end(), next);
  return numbers;
}

CompiledUpdates::CompiledUpdates(Options options) : options_(std::move(options)) {
  options_.name = "optimizer_step";
  options_.watch = {};
  options_.dynamic = Dynamic::None;
  options_.dynamic_sizes.clear();
  options_.unsupported = Unsupported::Error;
  options_.compile = Compile::Blocking;
}

void CompiledUpdates::run(const std::vector<Update>& updates) {
  UpdateFunction function;
  std::vector<at::Tensor> parameters, gradients, states;
  for (const auto& update : updates) {
    function.formulas.push_back(update.formula);
    parameters.push_back(update.parameter.detach());
    gradients.push_back(update.gradient.detach());
    states.insert(states.end(), update.state.begin(), update.state.end());
  }
  auto key = function.formulas;
  const auto [place, is_new] = functions_.try_emplace(std::move(key), std::move(function), options_);
  place->second(parameters, gradients, states, numbers_of(updates));
}

uint64_t CompiledUpdates::captures() const {
  uint64_t captures = 0;
  for (const auto& [formulas, function] : functions_) captures += function.report().captures;
  return captures;
}

}  // namespace antegrad::optim
