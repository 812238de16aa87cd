#pragma once
// What the tests of packaged training steps share.
#include <functional>
#include <optional>

#include "antegrad/optim.h"
#include "antegrad/optimizers.h"
#include "package_scene.h"

namespace antegrad::test {

namespace to = torch::optim;

using OptimizerMaker = std::function<std::unique_ptr<to::Optimizer>(const std::vector<at::Tensor>&)>;
using LossFunction = std::function<at::Tensor(const at::Tensor&)>;

template <class T, class Options>
OptimizerMaker optimizer_maker(Options options) {
  return [options](const std::vector<at::Tensor>& parameters) {
    return std::make_unique<T>(parameters, options);
  };
}

struct MatrixNet : torch::nn::Module {
  MatrixNet() {
    auto linear = [](int64_t in, int64_t out) {
      return torch::nn::Linear(torch::nn::LinearOptions(in, out).bias(false));
    };
    first = register_module("first", linear(4, 8));
    second = register_module("second", linear(8, 3));
  }
  at::Tensor forward(const at::Tensor& x) { return second(torch::tanh(first(x))); }
  torch::nn::Linear first{nullptr}, second{nullptr};
};

/// A net in training, and batches.
struct StepScene {
  explicit StepScene(const OptimizerMaker& make, StepOptions options = {}) {
    torch::manual_seed(5);
    net = std::make_shared<MatrixNet>();
    optimizer = make(net->parameters());
    for (int i = 0; i < 12; ++i) batches.push_back(torch::randn({6, 4}));
    step.emplace([net = net](const at::Tensor& x) { return (net->forward(x) - 1).pow(2).mean(); }, *optimizer,
                 std::move(options));
  }
  /// Takes steps with batches from `begin`.
  std::vector<at::Tensor> run(int begin, int end) {
    std::vector<at::Tensor> losses;
    for (int i = begin; i < end; ++i) losses.push_back((*step)(batches[i]));
    return losses;
  }
  void write(const std::string& path) {
    package(path, {{"train", *step}}, PackageOptions().name_weights(*net));
  }
  std::shared_ptr<MatrixNet> net;
  std::unique_ptr<to::Optimizer> optimizer;
  std::vector<at::Tensor> batches;
  std::optional<TrainingStep<LossFunction>> step;
};

/// Takes the same steps in both, and compares losses and weights bit for bit.
inline void expect_same_course(StepScene& scene, const Package& package, int begin, int end) {
  const auto step = package.step("train");
  for (int i = begin; i < end; ++i) {
    const auto expected = (*scene.step)(scene.batches[i]);
    const auto got = step(scene.batches[i]).toTensor();
    EXPECT_FALSE(got.requires_grad());
    EXPECT_TRUE(torch::equal(got, expected)) << i << got << expected;
    EXPECT_EQ(step.last().updated, scene.step->last().updated) << i;
    EXPECT_EQ(step.last().gradient_norm, scene.step->last().gradient_norm) << i;
    for (const auto& item : scene.net->named_parameters())
      EXPECT_TRUE(torch::equal(package.weight(item.key()), item.value())) << i << item.key();
  }
}

/// Packages a step after three calls, continues in the package, saves that and continues again.
inline void expect_to_continue(const OptimizerMaker& make, const StepOptions& options) {
  StepScene scene(make, options);
  scene.run(0, 3);
  PackageFile file, saved("saved");
  scene.write(file.path());
  {
    const auto loaded = Package::load(file.path(), {.strict = true});
    EXPECT_EQ(loaded.steps(), std::vector<std::string>{"train"});
    loaded.verify();
    expect_same_course(scene, loaded, 3, 7);
    loaded.save(saved.path());
    for (const auto& note : loaded.notes()) EXPECT_EQ(note.find("anew"), note.npos) << note;
  }
  const auto again = Package::load(saved.path(), {.strict = true});
  expect_same_course(scene, again, 7, 10);
}

inline const std::pair<const char*, OptimizerMaker> kOptimizers[] = {
    {"SGD", optimizer_maker<to::SGD>(to::SGDOptions(0.1))},
    {"SGD, momentum",
     optimizer_maker<to::SGD>(to::SGDOptions(0.1).momentum(0.9).nesterov(true).weight_decay(0.01))},
    {"Adam", optimizer_maker<to::Adam>(to::AdamOptions(0.01).weight_decay(0.1))},
    {"AdamW", optimizer_maker<to::AdamW>(to::AdamWOptions(0.01).amsgrad(true).betas({0.8, 0.95}))},
    {"Adagrad",
     optimizer_maker<to::Adagrad>(to::AdagradOptions(0.05).lr_decay(0.1).initial_accumulator_value(0.1))},
    {"RMSprop", optimizer_maker<to::RMSprop>(to::RMSpropOptions(0.01).momentum(0.5).centered(true))},
    {"Lion", optimizer_maker<Lion>(LionOptions(0.01))},
    {"NAdam", optimizer_maker<NAdam>(NAdamOptions(0.01))},
    {"Lamb", optimizer_maker<Lamb>(LambOptions(0.01))},
    {"Adafactor", optimizer_maker<Adafactor>(AdafactorOptions(0.01))},
    {"Muon", optimizer_maker<Muon>(MuonOptions(0.01).ns_steps(3))}};

}  // namespace antegrad::test
