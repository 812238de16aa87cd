#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <torch/types.h>

#include <cmath>
#include <limits>

#include "antegrad/optimizers.h"
#include "aten/convert.h"
#include "optim/update_reader.h"

namespace antegrad::optim {
namespace {

/// Averages of squares over one dim of a matrix.
at::Tensor zeros_without(const at::Tensor& parameter, int64_t dim) {
  auto sizes = parameter.sizes().vec();
  sizes[parameter.dim() + dim] = 1;
  return at::zeros(sizes, parameter.options().requires_grad(false));
}

/// As torch.finfo(dtype).eps.
double precision_of(at::ScalarType dtype) {
  switch (dtype) {
    case at::kDouble:
      return std::numeric_limits<double>::epsilon();
    case at::kHalf:
      return 0x1p-10;
    case at::kBFloat16:
      return 0x1p-7;
    default:
      return std::numeric_limits<float>::epsilon();
  }
}

/// Returns by what Muon multiplies the learning rate.
double muon_rate(MuonRate rate, const at::Tensor& parameter) {
  const auto rows = static_cast<double>(parameter.size(0)), columns = static_cast<double>(parameter.size(1));
  if (rate == MuonRate::MatchRmsAdamW) return 0.2 * std::sqrt(std::max(rows, columns));
  return std::sqrt(std::max(1.0, rows / columns));
}

/// The momentum of NAdam in a step.
double momentum(const NAdamOptions& options, int64_t step) {
  const auto warm_up = 1 - 0.5 * std::pow(0.96, static_cast<double>(step) * options.momentum_decay());
  return std::get<0>(options.betas()) * warm_up;
}

}  // namespace

template <class Options>
void UpdateReader::lion(const Options& options, Update& update) {
  decay_decoupled(options.lr(), options.weight_decay(), update);
  auto& state = state_of<LionParamState>(update.parameter,
                                         [&](auto& made) { made.exp_avg(zeros_for(update.parameter)); });
  update.state = {state.exp_avg()};
  const auto [beta1, beta2] = options.betas();
  update.numbers[kBeta1] = beta1;
  update.numbers[kOneMinusBeta1] = 1 - beta1;
  update.numbers[kBeta2] = beta2;
  update.numbers[kOneMinusBeta2] = 1 - beta2;
  update.numbers[kStep] = -options.lr();
}

template <class Options>
void UpdateReader::nadam(const Options& options, Update& update) {
  if (options.decoupled_weight_decay())
    decay_decoupled(options.lr(), options.weight_decay(), update);
  else
    decay(options.weight_decay(), update);
  auto& state = state_of<NAdamParamState>(update.parameter, [&](auto& made) {
    made.exp_avg(zeros_for(update.parameter));
    made.exp_avg_sq(zeros_for(update.parameter));
  });
  update.state = {state.exp_avg(), state.exp_avg_sq()};
  const auto step = count(state, update);
  set_betas(options.betas(), step, update);
  auto product = state.mu_product();
  for (auto earlier = state.step() + 1; earlier <= step; ++earlier) product *= momentum(options, earlier);
  update.product = &state.mu_product();
  update.new_product = product;
  const auto now = momentum(options, step), next = momentum(options, step + 1);
  update.numbers[kEps] = options.eps();
  update.numbers[kGradientStep] = -options.lr() * (1 - now) / (1 - product);
  update.numbers[kStep] = -options.lr() * next / (1 - product * next);
}

template <class Options>
void UpdateReader::lamb(const Options& options, Update& update) {
  update.formula.decays = options.weight_decay() != 0;
  update.formula.decoupled = true;
  update.numbers[kDecay] = options.weight_decay();
  auto& state = state_of<LambParamState>(update.parameter, [&](auto& made) {
    made.exp_avg(zeros_for(update.parameter));
    made.exp_avg_sq(zeros_for(update.parameter));
  });
  update.state = {state.exp_avg(), state.exp_avg_sq()};
  set_betas(options.betas(), count(state, update), update);
  update.numbers[kFirstCorrection] = correction1_;
  update.numbers[kEps] = options.eps();
  update.numbers[kStep] = -options.lr();
}

template <class Options>
void UpdateReader::adafactor(const Options& options, Update& update) {
  const auto& parameter = update.parameter;
  decay_decoupled(options.lr(), options.weight_decay(), update);
  update.formula.factored = parameter.dim() > 1;
  auto& state = state_of<AdafactorParamState>(parameter, [&](auto& made) {
    if (parameter.dim() <= 1) return void(made.variance(zeros_for(parameter)));
    made.row_var(zeros_without(parameter, -1));
    made.col_var(zeros_without(parameter, -2));
  });
  update.state.clear();
  if (update.formula.factored)
    update.state = {state.row_var(), state.col_var()};
  else
    update.state = {state.variance()};
  const auto step = static_cast<double>(count(state, update));
  update.numbers[kOneMinusBeta2] = std::pow(step, options.beta2_decay());
  update.numbers[kBeta2] = 1 - update.numbers[kOneMinusBeta2];
  update.numbers[kEps] = options.eps1().value_or(precision_of(parameter.scalar_type()));
  update.numbers[kLeastSize] = options.eps2();
  update.numbers[kMostSize] = options.d();
  update.numbers[kStep] = -std::min(options.lr(), 1 / std::sqrt(step));
}

template <class Options>
void UpdateReader::muon(const Options& options, Update& update) {
  Options::check_parameter(update.parameter);
  decay_decoupled(options.lr(), options.weight_decay(), update);
  const auto [a, b, c] = options.ns_coefficients();
  update.formula.coefficients = {a, b, c, options.eps()};
  update.formula.iterations = static_cast<int8_t>(options.ns_steps());
  update.formula.inner = aten::to_ir(options.ns_dtype());
  update.formula.nesterov = options.nesterov();
  auto& state = state_of<MuonParamState>(
      update.parameter, [&](auto& made) { made.momentum_buffer(zeros_for(update.parameter)); });
  update.state = {state.momentum_buffer()};
  update.numbers[kBeta1] = options.momentum();
  update.numbers[kOneMinusBeta1] = 1 - options.momentum();
  update.numbers[kStep] = -options.lr() * muon_rate(options.adjust_lr(), update.parameter);
}

void UpdateReader::fill_own(torch::optim::OptimizerOptions& options, Update& update) {
  update.state_writes = {1, 1, 1, 1};
  switch (method_) {
    case Method::Lion:
      return lion(static_cast<LionOptions&>(options), update);
    case Method::NAdam:
      return nadam(static_cast<NAdamOptions&>(options), update);
    case Method::Lamb:
      return lamb(static_cast<LambOptions&>(options), update);
    case Method::Adafactor:
      return adafactor(static_cast<AdafactorOptions&>(options), update);
    case Method::Muon:
      return muon(static_cast<MuonOptions&>(options), update);
    default:
      return;
  }
}

}  // namespace antegrad::optim
