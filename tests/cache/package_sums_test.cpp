// Packaged training steps between two updates: gradients that were accumulated, and those that are kept.
#include "optim/training_core.h"
#include "package_step_scene.h"

namespace {
using namespace antegrad;
using namespace antegrad::test;

TEST(PackageSums, ContinuesInTheMiddleOfAnAccumulation) {
  StepOptions options;
  options.accumulate = 4;  // packaged and saved after three calls each
  expect_to_continue(kOptimizers[3].second, options);
}

TEST(PackageSums, HasCodeForAnUpdateThatHasNotBeenMade) {
  StepOptions options;
  options.accumulate = 4;
  for (const auto& [name, make] : kOptimizers) {
    SCOPED_TRACE(name);
    expect_to_continue(make, options);
  }
}

TEST(PackageSums, KeepsGradients) {
  StepOptions options;
  options.gradients = Gradients::Keep;
  StepScene scene(kOptimizers[3].second, options);
  scene.net->register_parameter("unused", torch::ones({3}));
  options.options.watch = {scene.net};  // two versions: without .grad, and with it
  scene.optimizer = kOptimizers[3].second(scene.net->parameters());
  scene.step.emplace([net = scene.net](const at::Tensor& x) { return (net->forward(x) - 1).pow(2).mean(); },
                     *scene.optimizer, options);
  scene.run(0, 3);
  PackageFile file;
  scene.write(file.path());
  const auto loaded = Package::load(file.path(), {.strict = true});
  expect_same_course(scene, loaded, 3, 6);
  for (const auto& item : scene.net->named_parameters())
    if (item.value().grad().defined())
      EXPECT_TRUE(torch::equal(loaded.weight(item.key()).grad(), item.value().grad())) << item.key();
}

TEST(PackageSums, KeepsSumsWhenWeightsAreReplaced) {
  StepOptions options;
  options.accumulate = 4;
  StepScene scene(kOptimizers[3].second, options);
  scene.run(0, 2);
  PackageFile file;
  scene.write(file.path());
  const auto loaded = Package::load(file.path(), {.strict = true});
  expect_same_course(scene, loaded, 2, 3);
  const auto name = "train.accumulated." + scene.net->named_parameters().begin()->key();
  const auto sum = loaded.weight(name);
  EXPECT_TRUE(torch::equal(sum, scene.step->training()->impl().accumulated[0]));
  auto net = std::make_shared<MatrixNet>();
  {
    const at::NoGradGuard no_grad;
    for (const auto& item : scene.net->named_parameters())
      net->named_parameters()[item.key()].copy_(item.value());
  }
  loaded.share(*net);
  loaded.replace({{name, sum * 2}});
  scene.step->training()->impl().accumulated[0].mul_(2);
  expect_same_course(scene, loaded, 3, 9);
  EXPECT_TRUE(torch::equal(net->parameters()[0], scene.net->parameters()[0]));
}

}  // namespace
