// Random optimizers, options, groups, parameters and gradients: compiled steps against LibTorch's.
// ANTEGRAD_FUZZ_SEED and ANTEGRAD_FUZZ_COUNT search other seeds, and longer.
#include <torch/nn/utils/clip_grad.h>

#include "fuzz/driver.h"
#include "fuzz/random_optimizers.h"
#include "fuzz/search.h"
#include "support/device.h"
#include "support/optimizer_twins.h"

namespace antegrad::fuzz {
namespace {

using at::Tensor;
using test::Twins;
namespace to = torch::optim;

Tensor random_contents(Rng& rng, at::ScalarType dtype, bool is_matrix) {
  if (is_matrix) return torch::randn({rng.range(1, 9), rng.range(1, 9)}, dtype);
  std::vector<int64_t> sizes;
  for (auto rank = rng.below(5); rank > 0; --rank) sizes.push_back(rng.percent(3) ? 0 : rng.range(1, 9));
  if (rng.percent(10)) sizes = {rng.range(1, 20'000)};
  auto tensor = torch::randn(sizes, dtype);
  if (sizes.size() == 4 && rng.percent(30)) return tensor.contiguous(at::MemoryFormat::ChannelsLast);
  return sizes.size() == 2 && rng.percent(30) ? tensor.t() : tensor;
}

Tensor random_parameter(Rng& rng, at::ScalarType dtype, bool is_matrix) {
  return test::on_device(random_contents(rng, dtype, is_matrix));
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

at::ScalarType random_dtype(Rng& rng, int64_t kind) {
  if (kind == kLion) return at::kDouble;  // the sign of a number that is almost nothing depends on rounding
  return rng.pick(std::vector{at::kFloat, at::kFloat, at::kDouble, at::kBFloat16});
}

std::string check_optimizer(uint64_t seed) {
  Rng rng(seed);
  torch::manual_seed(seed);
  // Steps of the last three are functions with kernels for their sizes, which take long to compile.
  const auto kind = rng.percent(97) ? rng.below(kLamb) : rng.range(kLamb, kMuon);
  const auto dtype = random_dtype(rng, kind);
  std::vector<std::vector<Tensor>> groups(static_cast<size_t>(rng.range(1, 3)));
  std::vector<std::unique_ptr<to::OptimizerOptions>> options;
  for (auto& group : groups) {
    for (auto n = rng.range(1, 4); n > 0; --n) group.push_back(random_parameter(rng, dtype, kind == kMuon));
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

TEST(OptimizerFuzz, Seeds0To499) { search("optimizer", {0, 500}, check_optimizer); }

TEST(FreshOptimizerFuzz, Steps) {
  if (!test::missing_device().empty()) GTEST_SKIP() << test::missing_device();
  search_fresh("optimizer", check_optimizer);
}

}  // namespace
}  // namespace antegrad::fuzz
