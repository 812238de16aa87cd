// Random optimizers, options, groups, parameters and gradients: compiled steps against LibTorch's, and whole
// training steps of random nets against loops.
// ANTEGRAD_FUZZ_SEED and ANTEGRAD_FUZZ_COUNT search other seeds, and longer.
#include <torch/nn/utils/clip_grad.h>

#include "fuzz/driver.h"
#include "fuzz/rng.h"
#include "support/optimizer_twins.h"

namespace antegrad::fuzz {
namespace {

using at::Tensor;
using test::Twins;
namespace to = torch::optim;
namespace own = antegrad;

double share(Rng& rng) { return static_cast<double>(rng.range(1, 95)) / 100; }
/// Often zero, which switches something off.
double maybe(Rng& rng) { return rng.percent(50) ? share(rng) / 5 : 0; }

enum Kind : int64_t { kSgd, kAdam, kAdamW, kAdagrad, kRmsProp, kLion, kNAdam, kLamb, kAdafactor, kMuon };

/// Options of optimizers that LibTorch lacks.
std::unique_ptr<to::OptimizerOptions> random_own_options(Rng& rng, int64_t kind, double lr) {
  const own::LionOptions::betas_t betas(share(rng), share(rng));
  switch (kind) {
    case kLion:
      return std::make_unique<own::LionOptions>(own::LionOptions(lr).betas(betas).weight_decay(maybe(rng)));
    case kNAdam:
      return std::make_unique<own::NAdamOptions>(own::NAdamOptions(lr)
                                                     .betas(betas)
                                                     .eps(maybe(rng) + 0.01)
                                                     .weight_decay(maybe(rng))
                                                     .momentum_decay(maybe(rng))
                                                     .decoupled_weight_decay(rng.percent(40)));
    case kLamb:
      return std::make_unique<own::LambOptions>(
          own::LambOptions(lr).betas(betas).eps(maybe(rng) + 0.01).weight_decay(maybe(rng)));
    case kAdafactor:
      return std::make_unique<own::AdafactorOptions>(own::AdafactorOptions(lr)
                                                         .beta2_decay(-share(rng))
                                                         .eps1(maybe(rng) + 0.01)
                                                         .eps2(maybe(rng))
                                                         .d(1 + maybe(rng))
                                                         .weight_decay(maybe(rng)));
    default:  // each iteration amplifies rounding errors by the first coefficient
      return std::make_unique<own::MuonOptions>(own::MuonOptions(lr)
                                                    .weight_decay(maybe(rng))
                                                    .momentum(share(rng))
                                                    .nesterov(rng.percent(50))
                                                    .ns_coefficients({1.5, -0.5, share(rng) / 10})
                                                    .ns_steps(rng.range(0, 3))
                                                    .adjust_lr(own::MuonRate(rng.below(2)))
                                                    .ns_dtype(at::kDouble));
  }
}

/// Methods that divide a gradient by its size amplify its rounding errors by 1 / eps.
std::unique_ptr<to::OptimizerOptions> random_options(Rng& rng, int64_t kind) {
  const double lr = rng.percent(10) ? 0 : share(rng) / 10;
  if (kind > kRmsProp) return random_own_options(rng, kind, lr);
  switch (kind) {
    case kSgd: {
      auto options = to::SGDOptions(lr).weight_decay(maybe(rng)).momentum(rng.percent(70) ? share(rng) : 0);
      rng.percent(40) && options.momentum() > 0 ? options.nesterov(true) : options.dampening(maybe(rng));
      return std::make_unique<to::SGDOptions>(options);
    }
    case kAdam:
      return std::make_unique<to::AdamOptions>(to::AdamOptions(lr)
                                                   .betas({share(rng), share(rng)})
                                                   .eps(maybe(rng) + 0.01)
                                                   .weight_decay(maybe(rng))
                                                   .amsgrad(rng.percent(40)));
    case kAdamW:
      return std::make_unique<to::AdamWOptions>(to::AdamWOptions(lr)
                                                    .betas({share(rng), share(rng)})
                                                    .eps(maybe(rng) + 0.01)
                                                    .weight_decay(maybe(rng))
                                                    .amsgrad(rng.percent(40)));
    case kAdagrad:
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
    case kSgd:
      return made<to::SGD, to::SGDOptions>(groups, options);
    case kAdam:
      return made<to::Adam, to::AdamOptions>(groups, options);
    case kAdamW:
      return made<to::AdamW, to::AdamWOptions>(groups, options);
    case kAdagrad:
      return made<to::Adagrad, to::AdagradOptions>(groups, options);
    case kRmsProp:
      return made<to::RMSprop, to::RMSpropOptions>(groups, options);
    case kLion:
      return made<own::Lion, own::LionOptions>(groups, options);
    case kNAdam:
      return made<own::NAdam, own::NAdamOptions>(groups, options);
    case kLamb:
      return made<own::Lamb, own::LambOptions>(groups, options);
    case kAdafactor:
      return made<own::Adafactor, own::AdafactorOptions>(groups, options);
    default:
      return made<own::Muon, own::MuonOptions>(groups, options);
  }
}

Tensor random_parameter(Rng& rng, at::ScalarType dtype, bool is_matrix) {
  if (is_matrix) return torch::randn({rng.range(1, 9), rng.range(1, 9)}, dtype);
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

// --- whole steps: weights that are tied, frozen, unused, overlap, are looked up in or written to

/// A net that is made twice alike from one seed.
struct RandomNet {
  std::vector<Tensor> weights, trained, constants;
  std::vector<size_t> layers;  ///< which weight each one multiplies by
  size_t table = 0;            ///< of rows that are looked up, where that is a weight
  bool writes_weight = false, counts_calls = false;
  Tensor calls;

  explicit RandomNet(uint64_t seed) {
    Rng rng(seed);
    torch::manual_seed(seed);
    const auto width = rng.percent(20) ? rng.range(60, 90) : rng.range(1, 8);
    const auto random = [&](int64_t rows) { return torch::randn({rows, width}, at::kDouble) / 3; };
    for (auto n = rng.range(2, 6); n > 0; --n) weights.push_back(random(width));
    if (rng.percent(15)) {
      const auto whole = random(2 * width);
      weights[0] = whole.narrow(0, 0, width);
      weights[1] = whole.narrow(0, rng.range(0, width), width);
    }
    if (rng.percent(30)) {
      table = weights.size();
      weights.push_back(random(5));
    }
    for (auto& weight : weights) {
      weight = weight.detach();
      if (rng.percent(20)) constants.push_back(weight);  // the same memory, without gradients
      weight.set_requires_grad(!rng.percent(15));
      if (weight.requires_grad() || rng.percent(50)) trained.push_back(weight);
    }
    for (auto n = rng.range(1, 6); n > 0; --n)
      layers.push_back(
          static_cast<size_t>(rng.below(static_cast<int64_t>(table > 0 ? table : weights.size()))));
    writes_weight = rng.percent(8);
    counts_calls = rng.percent(15);
    calls = torch::zeros({1}, at::kDouble);
    if (!weights[layers.back()].requires_grad()) weights[layers.back()].set_requires_grad(true);
  }

  int64_t width() const { return weights[0].size(1); }

  Tensor loss(const Tensor& x) const {
    auto y = x;
    if (table > 0)
      y = y + at::embedding(weights[table], (x.select(1, 0).abs() * 3).to(at::kLong).clamp(0, 4));
    for (auto layer : layers) y = at::tanh(at::mm(y, weights[layer]));
    for (const auto& constant : constants) y = y + constant.mean();
    auto sum = (y + calls / 8).pow(2).mean();
    const at::NoGradGuard no_grad;
    if (counts_calls) calls.add_(1);
    if (writes_weight) weights[layers[0]].data().mul_(0.75);
    return sum;
  }
};

StepOptions random_step_options(Rng& rng) {
  StepOptions options;
  if (rng.percent(20))
    options.clip_norm = share(rng);
  else if (rng.percent(20))
    options.clip_value = share(rng) / 10;
  if (rng.percent(15)) options.gradients = Gradients::Keep;
  if (rng.percent(10)) options.accumulate = rng.range(2, 3);
  options.skip_nonfinite = rng.percent(10);
  if (rng.percent(30)) options.average = std::make_shared<WeightAverage>(share(rng));
  return options;
}

void step_eagerly(const RandomNet& net, to::Optimizer& optimizer, const StepOptions& options, int call,
                  const Tensor& x) {
  if (call % options.accumulate == 0) optimizer.zero_grad();
  (net.loss(x) / options.accumulate).backward();
  if ((call + 1) % options.accumulate != 0) return;
  if (options.clip_norm) torch::nn::utils::clip_grad_norm_(net.trained, *options.clip_norm);
  if (options.clip_value) torch::nn::utils::clip_grad_value_(net.trained, *options.clip_value);
  optimizer.step();
}

std::string check_whole_step(uint64_t seed) {
  Rng rng(seed * 31 + 7);
  const auto kind = rng.below(kLion);
  const auto settings = random_options(rng, kind);
  const auto options = random_step_options(rng);
  const RandomNet eager_net(seed), net(seed);
  const auto make = [&](const RandomNet& of) {
    return make_optimizer(kind, {to::OptimizerParamGroup(of.trained)}, *settings);
  };
  const auto eager = make(eager_net), optimizer = make(net);
  const auto step = training_step([&](const Tensor& x) { return net.loss(x); }, *optimizer, options);
  for (int call = 0; call < 4; ++call) {
    const auto x = torch::randn({3, net.width()}, at::kDouble);
    step_eagerly(eager_net, *eager, options, call, x);
    step(x);
    if (rng.percent(30)) {
      const auto lr = share(rng) / 10;
      eager->param_groups()[0].options().set_lr(lr);
      optimizer->param_groups()[0].options().set_lr(lr);
    }
    for (size_t i = 0; i < net.weights.size(); ++i)
      if (!at::allclose(net.weights[i], eager_net.weights[i], 1e-6, 1e-9))
        return c10::str("seed ", seed, ", optimizer ", kind, ", call ", call, ", weight ", i, " is ",
                        net.weights[i], " instead of ", eager_net.weights[i]);
    if (!at::equal(net.calls, eager_net.calls)) return c10::str("seed ", seed, ": the number of calls");
  }
  if (step.report().eager_calls + step.step_report().eager_calls > 0)
    return c10::str("seed ", seed, " ran eagerly");
  return "";
}

void search(const char* family, Seeds seeds, std::string (*check)(uint64_t)) {
  uint64_t failures = 0;
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count && failures < 3; ++seed)
    if (const auto text = check(seed); !text.empty()) {
      ++failures;
      ADD_FAILURE() << text;
    }
  say_checked(family, seeds.count, failures);
}

void search_fresh(const char* family, std::string (*check)(uint64_t)) {
  const auto seeds = fresh_seeds();
  if (!seeds) GTEST_SKIP() << "ANTEGRAD_FUZZ_COUNT=n searches among n";
  search(family, *seeds, check);
}

TEST(OptimizerFuzz, Seeds0To499) { search("optimizer", {0, 500}, check_optimizer); }
TEST(WholeStepFuzz, Seeds0To79) { search("whole step", {0, 80}, check_whole_step); }

TEST(FreshOptimizerFuzz, Steps) { search_fresh("optimizer", check_optimizer); }
TEST(FreshWholeStepFuzz, Steps) { search_fresh("whole step", check_whole_step); }

}  // namespace
}  // namespace antegrad::fuzz
