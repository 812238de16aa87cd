// Random optimizers, options, groups, parameters and gradients: compiled steps against LibTorch's.
// ANTEGRAD_FUZZ_SEED and ANTEGRAD_FUZZ_COUNT search other seeds, and longer.
#include "fuzz/driver.h"
#include "fuzz/rng.h"
#include "support/optimizer_twins.h"

namespace antegrad::fuzz {
namespace {

using at::Tensor;
using test::Twins;
namespace to = torch::optim;

double share(Rng& rng) { return static_cast<double>(rng.range(1, 95)) / 100; }
/// Often zero, which switches something off.
double maybe(Rng& rng) { return rng.percent(50) ? share(rng) / 5 : 0; }

/// Methods that divide a gradient by its size amplify its rounding errors by 1 / eps.
std::unique_ptr<to::OptimizerOptions> random_options(Rng& rng, int64_t kind) {
  const double lr = rng.percent(10) ? 0 : share(rng) / 10;
  switch (kind) {
    case 0: {
      auto options = to::SGDOptions(lr).weight_decay(maybe(rng)).momentum(rng.percent(70) ? share(rng) : 0);
      rng.percent(40) && options.momentum() > 0 ? options.nesterov(true) : options.dampening(maybe(rng));
      return std::make_unique<to::SGDOptions>(options);
    }
    case 1:
      return std::make_unique<to::AdamOptions>(to::AdamOptions(lr)
                                                   .betas({share(rng), share(rng)})
                                                   .eps(maybe(rng) + 0.01)
                                                   .weight_decay(maybe(rng))
                                                   .amsgrad(rng.percent(40)));
    case 2:
      return std::make_unique<to::AdamWOptions>(to::AdamWOptions(lr)
                                                    .betas({share(rng), share(rng)})
                                                    .eps(maybe(rng) + 0.01)
                                                    .weight_decay(maybe(rng))
                                                    .amsgrad(rng.percent(40)));
    case 3:
      return std::make_unique<to::AdagradOptions>(to::AdagradOptions(lr)
                                                      .lr_decay(maybe(rng))
                                                      .weight_decay(maybe(rng))
                                                      .initial_accumulator_value(maybe(rng))
                                                      .eps(maybe(rng) + 0.01));
    default:
      // Centered variances of few steps are differences of nearly equal numbers when alpha is small.
      return std::make_unique<to::RMSpropOptions>(to::RMSpropOptions(lr)
                                                      .alpha(0.9 + share(rng) / 10)
                                                      .eps(maybe(rng) + 0.01)
                                                      .weight_decay(maybe(rng))
                                                      .momentum(maybe(rng))
                                                      .centered(rng.percent(40)));
  }
}

template <class Optimizer, class Options>
std::unique_ptr<to::Optimizer> made(const std::vector<to::OptimizerParamGroup>& groups,
                                    const to::OptimizerOptions& options) {
  return std::make_unique<Optimizer>(groups, static_cast<const Options&>(options));
}

std::unique_ptr<to::Optimizer> make_optimizer(int64_t kind,
                                              const std::vector<to::OptimizerParamGroup>& groups,
                                              const to::OptimizerOptions& options) {
  switch (kind) {
    case 0:
      return made<to::SGD, to::SGDOptions>(groups, options);
    case 1:
      return made<to::Adam, to::AdamOptions>(groups, options);
    case 2:
      return made<to::AdamW, to::AdamWOptions>(groups, options);
    case 3:
      return made<to::Adagrad, to::AdagradOptions>(groups, options);
    default:
      return made<to::RMSprop, to::RMSpropOptions>(groups, options);
  }
}

Tensor random_parameter(Rng& rng, at::ScalarType dtype) {
  std::vector<int64_t> sizes;
  for (auto rank = rng.below(5); rank > 0; --rank) sizes.push_back(rng.percent(3) ? 0 : rng.range(1, 9));
  if (rng.percent(10)) sizes = {rng.range(1, 20'000)};
  auto tensor = torch::randn(sizes, dtype);
  if (sizes.size() == 4 && rng.percent(30)) return tensor.contiguous(at::MemoryFormat::ChannelsLast);
  return sizes.size() == 2 && rng.percent(30) ? tensor.t() : tensor;
}

/// Compares the averages after a step with those that follow from the ones before it and the new parameters.
std::string difference_of_averages(const std::vector<Tensor>& parameters, const std::vector<Tensor>& before,
                                   const WeightAverage& average) {
  if (average.averages.size() != parameters.size()) return "the number of averages";
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto now = parameters[i].detach().to(at::kDouble);
    const auto expected = i < before.size() ? before[i].to(at::kDouble).lerp(now, 1 - average.decay) : now;
    const auto rounding = 8 * test::rounding_of(parameters[i].scalar_type());
    if (!average.averages[i].to(at::kDouble).allclose(expected, rounding, rounding))
      return c10::str("average ", i, " is ", average.averages[i], " instead of ", expected);
  }
  return "";
}

std::string check_optimizer(uint64_t seed) {
  Rng rng(seed);
  torch::manual_seed(seed);
  const auto kind = rng.below(5);
  const auto dtype = rng.pick(std::vector{at::kFloat, at::kFloat, at::kDouble, at::kBFloat16});
  std::vector<std::vector<Tensor>> groups(static_cast<size_t>(rng.range(1, 3)));
  std::vector<std::unique_ptr<to::OptimizerOptions>> options;
  for (auto& group : groups) {
    for (auto n = rng.range(1, 4); n > 0; --n) group.push_back(random_parameter(rng, dtype));
    options.push_back(random_options(rng, kind));
  }
  const auto defaults = random_options(rng, kind);
  StepOptions step_options;
  if (rng.percent(20))
    step_options.clip_norm = share(rng) * 10;
  else if (rng.percent(20))
    step_options.clip_value = share(rng);
  if (rng.percent(30)) step_options.average = std::make_shared<WeightAverage>(share(rng));
  Twins twins(
      groups,
      [&](std::vector<to::OptimizerParamGroup> made) {
        for (size_t i = 0; i < made.size(); ++i) made[i].set_options(options[i]->clone());
        return make_optimizer(kind, made, *defaults);
      },
      step_options);
  const auto chance = rng.below(60);
  for (int step = 0; step < 4; ++step) {
    std::vector<Tensor> gradients;
    for (const auto& parameter : twins.eager_parameters)
      gradients.push_back(rng.percent(chance) ? Tensor() : torch::randn_like(parameter).detach());
    twins.set_gradients(gradients);
    if (rng.percent(30))
      for (size_t i = 0; i < groups.size(); ++i) {
        const auto lr = share(rng) / 10;
        twins.eager->param_groups()[i].options().set_lr(lr);
        twins.compiled->param_groups()[i].options().set_lr(lr);
      }
    if (rng.percent(10) && step > 0) {
      std::stringstream stream;
      torch::save(*twins.compiled, stream);
      torch::load(*twins.compiled, stream);
      std::stringstream other;
      torch::save(*twins.eager, other);
      torch::load(*twins.eager, other);
    }
    std::vector<Tensor> averages;
    if (step_options.average)
      for (const auto& average : step_options.average->averages) averages.push_back(average.clone());
    twins.step();
    if (step_options.average)
      if (auto text = difference_of_averages(twins.compiled_parameters, averages, *step_options.average);
          !text.empty())
        return c10::str("seed ", seed, ", optimizer ", kind, ", ", dtype, ", step ", step, ": ", text);
    if (auto text = twins.difference(); !text.empty())
      return c10::str("seed ", seed, ", optimizer ", kind, ", ", dtype, ", step ", step, ": ", text);
    twins.align();
  }
  return "";
}

void fuzz_optimizers(uint64_t first, uint64_t count) {
  uint64_t failures = 0;
  for (uint64_t seed = first; seed < first + count && failures < 3; ++seed)
    if (const auto text = check_optimizer(seed); !text.empty()) {
      ++failures;
      ADD_FAILURE() << text;
    }
  say_checked("optimizer", count, failures);
}

TEST(OptimizerFuzz, Seeds0To499) { fuzz_optimizers(0, 500); }

TEST(FreshOptimizerFuzz, Steps) {
  const auto seeds = fresh_seeds();
  if (!seeds) GTEST_SKIP() << "ANTEGRAD_FUZZ_COUNT=n searches among n";
  fuzz_optimizers(seeds->first, seeds->count);
}

}  // namespace
}  // namespace antegrad::fuzz
