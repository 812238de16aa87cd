#pragma once
// Random optimizers, of LibTorch and of <antegrad/optimizers.h>.
#include <antegrad/optimizers.h>
#include <torch/optim.h>

#include <memory>
#include <vector>

#include "fuzz/rng.h"

namespace antegrad::fuzz {

inline double share(Rng& rng) { return static_cast<double>(rng.range(1, 95)) / 100; }
/// Often zero, which switches something off.
inline double maybe(Rng& rng) { return rng.percent(50) ? share(rng) / 5 : 0; }

enum Kind : int64_t { kSgd, kAdam, kAdamW, kAdagrad, kRmsProp, kLion, kNAdam, kLamb, kAdafactor, kMuon };

/// Options of optimizers that LibTorch lacks.
inline std::unique_ptr<torch::optim::OptimizerOptions> random_own_options(Rng& rng, int64_t kind, double lr) {
  const LionOptions::betas_t betas(share(rng), share(rng));
  switch (kind) {
    case kLion:
      return std::make_unique<LionOptions>(LionOptions(lr).betas(betas).weight_decay(maybe(rng)));
    case kNAdam:
      return std::make_unique<NAdamOptions>(NAdamOptions(lr)
                                                .betas(betas)
                                                .eps(maybe(rng) + 0.01)
                                                .weight_decay(maybe(rng))
                                                .momentum_decay(maybe(rng))
                                                .decoupled_weight_decay(rng.percent(40)));
    case kLamb:
      return std::make_unique<LambOptions>(
          LambOptions(lr).betas(betas).eps(maybe(rng) + 0.01).weight_decay(maybe(rng)));
    case kAdafactor:
      return std::make_unique<AdafactorOptions>(AdafactorOptions(lr)
                                                    .beta2_decay(-share(rng))
                                                    .eps1(maybe(rng) + 0.01)
                                                    .eps2(maybe(rng))
                                                    .d(1 + maybe(rng))
                                                    .weight_decay(maybe(rng)));
    default:  // each iteration amplifies rounding errors by the first coefficient
      return std::make_unique<MuonOptions>(MuonOptions(lr)
                                               .weight_decay(maybe(rng))
                                               .momentum(share(rng))
                                               .nesterov(rng.percent(50))
                                               .ns_coefficients({1.5, -0.5, share(rng) / 10})
                                               .ns_steps(rng.range(0, 3))
                                               .adjust_lr(MuonRate(rng.below(2)))
                                               .ns_dtype(at::kDouble));
  }
}

/// Methods that divide a gradient by its size amplify its rounding errors by 1 / eps.
inline std::unique_ptr<torch::optim::OptimizerOptions> random_options(Rng& rng, int64_t kind) {
  const double lr = rng.percent(10) ? 0 : share(rng) / 10;
  if (kind > kRmsProp) return random_own_options(rng, kind, lr);
  switch (kind) {
    case kSgd: {
      auto options =
          torch::optim::SGDOptions(lr).weight_decay(maybe(rng)).momentum(rng.percent(70) ? share(rng) : 0);
      rng.percent(40) && options.momentum() > 0 ? options.nesterov(true) : options.dampening(maybe(rng));
      return std::make_unique<torch::optim::SGDOptions>(options);
    }
    case kAdam:
      return std::make_unique<torch::optim::AdamOptions>(torch::optim::AdamOptions(lr)
                                                             .betas({share(rng), share(rng)})
                                                             .eps(maybe(rng) + 0.01)
                                                             .weight_decay(maybe(rng))
                                                             .amsgrad(rng.percent(40)));
    case kAdamW:
      return std::make_unique<torch::optim::AdamWOptions>(torch::optim::AdamWOptions(lr)
                                                              .betas({share(rng), share(rng)})
                                                              .eps(maybe(rng) + 0.01)
                                                              .weight_decay(maybe(rng))
                                                              .amsgrad(rng.percent(40)));
    case kAdagrad:
      return std::make_unique<torch::optim::AdagradOptions>(torch::optim::AdagradOptions(lr)
                                                                .lr_decay(maybe(rng))
                                                                .weight_decay(maybe(rng))
                                                                .initial_accumulator_value(maybe(rng))
                                                                .eps(maybe(rng) + 0.01));
    default:
      // Centered variances of few steps are differences of nearly equal numbers when alpha is small.
      return std::make_unique<torch::optim::RMSpropOptions>(torch::optim::RMSpropOptions(lr)
                                                                .alpha(0.9 + share(rng) / 10)
                                                                .eps(maybe(rng) + 0.01)
                                                                .weight_decay(maybe(rng))
                                                                .momentum(maybe(rng))
                                                                .centered(rng.percent(40)));
  }
}

template <class Optimizer, class Options>
std::unique_ptr<torch::optim::Optimizer> made(const std::vector<torch::optim::OptimizerParamGroup>& groups,
                                              const torch::optim::OptimizerOptions& options) {
  return std::make_unique<Optimizer>(groups, static_cast<const Options&>(options));
}

inline std::unique_ptr<torch::optim::Optimizer> make_optimizer(
    int64_t kind, const std::vector<torch::optim::OptimizerParamGroup>& groups,
    const torch::optim::OptimizerOptions& options) {
  switch (kind) {
    case kSgd:
      return made<torch::optim::SGD, torch::optim::SGDOptions>(groups, options);
    case kAdam:
      return made<torch::optim::Adam, torch::optim::AdamOptions>(groups, options);
    case kAdamW:
      return made<torch::optim::AdamW, torch::optim::AdamWOptions>(groups, options);
    case kAdagrad:
      return made<torch::optim::Adagrad, torch::optim::AdagradOptions>(groups, options);
    case kRmsProp:
      return made<torch::optim::RMSprop, torch::optim::RMSpropOptions>(groups, options);
    case kLion:
      return made<Lion, LionOptions>(groups, options);
    case kNAdam:
      return made<NAdam, NAdamOptions>(groups, options);
    case kLamb:
      return made<Lamb, LambOptions>(groups, options);
    case kAdafactor:
      return made<Adafactor, AdafactorOptions>(groups, options);
    default:
      return made<Muon, MuonOptions>(groups, options);
  }
}

}  // namespace antegrad::fuzz
