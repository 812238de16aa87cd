#include "optim/update_function.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cache/format/hash.h"
#include "optim/optimizer_class.h"
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

std::vector<Formula> formulas_of(const std::vector<Update>& updates) {
  std::vector<Formula> formulas;
  for (const auto& update : updates) formulas.push_back(update.formula);
  return formulas;
}

std::string folder_name(const std::vector<Formula>& formulas) {
  std::string text;
  for (const auto& f : formulas)
    text +=
        fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {}\n", class_name(f.method), ir::name(f.dtype),
                    f.scales, f.clamps, f.decays, f.decoupled, f.momentum, f.nesterov, f.amsgrad, f.centered,
                    f.factored, f.iterations, ir::name(f.inner), fmt::join(f.coefficients, " "), f.averages);
  return cache::sha256(text).hex();
}

CompiledUpdates::CompiledUpdates(Options options) : options_(std::move(options)) {
  options_.name = "optimizer_step";
  options_.watch = {};
  options_.dynamic = Dynamic::None;
  options_.dynamic_sizes.clear();
  options_.unsupported = Unsupported::Error;
  options_.compile = Compile::Blocking;
}

CompiledUpdates::Arguments::Arguments(const std::vector<Update>& updates) : numbers(numbers_of(updates)) {
  for (const auto& update : updates) {
    parameters.push_back(update.parameter.detach());
    gradients.push_back(update.gradient.detach());
    states.insert(states.end(), update.state.begin(), update.state.end());
  }
}

const CompiledUpdates::Compiled& CompiledUpdates::function_for(const std::vector<Update>& updates) {
  UpdateFunction function{formulas_of(updates)};
  auto key = function.formulas;
  return functions_.try_emplace(std::move(key), std::move(function), options_).first->second;
}

void CompiledUpdates::run(const std::vector<Update>& updates) {
  const Arguments given(updates);
  function_for(updates)(given.parameters, given.gradients, given.states, given.numbers);
}

void CompiledUpdates::prepare(const std::vector<Update>& updates) {
  const auto& function = function_for(updates);
  if (function.report().captures > 0) return;
  Arguments given(updates);
  for (auto* tensors : {&given.parameters, &given.gradients, &given.states})
    for (auto& tensor : *tensors) tensor = tensor.clone();
  function(given.parameters, given.gradients, given.states, given.numbers);
}

uint64_t CompiledUpdates::captures() const {
  uint64_t captures = 0;
  for (const auto& [formulas, function] : functions_) captures += function.report().captures;
  return captures;
}

}  // namespace antegrad::optim
