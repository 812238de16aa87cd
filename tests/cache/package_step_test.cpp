// Training steps in packages continue where the running process was.
#include "antegrad/c.h"
#include "package_step_scene.h"

namespace {
using namespace antegrad;
using namespace antegrad::test;

TEST(PackageStep, ContinuesWithEveryOptimizer) {
  for (const auto& [name, make] : kOptimizers) {
    SCOPED_TRACE(name);
    expect_to_continue(make, {});
  }
}

TEST(PackageStep, ContinuesBitForBitWithLibTorchsKernels) {
  StepOptions options;
  options.options.backend = Backend::Eager;
  options.clip_norm = 0.3;
  for (const auto& [name, make] : kOptimizers) {
    SCOPED_TRACE(name);
    expect_to_continue(make, options);
  }
}

TEST(PackageStep, ClipsAsTheStepDid) {
  StepOptions norm, value, one;
  norm.clip_norm = 0.05;
  value.clip_value = 0.01;
  one.clip_norm = 0.05;
  one.norm_type = std::numeric_limits<double>::infinity();
  for (const auto& options : {norm, value, one}) expect_to_continue(kOptimizers[3].second, options);
}

TEST(PackageStep, KeepsScalersAndAverages) {
  for (const auto& [name, make] : {kOptimizers[1], kOptimizers[8]}) {
    SCOPED_TRACE(name);
    StepOptions options;
    options.scaler = std::make_shared<GradScaler>(1024);
    options.scaler->growth_interval = 2;
    options.average = std::make_shared<WeightAverage>(0.9);
    StepScene scene(make, options);
    scene.run(0, 3);
    PackageFile file;
    scene.write(file.path());
    const auto loaded = Package::load(file.path(), {.strict = true});
    expect_same_course(scene, loaded, 3, 8);
    const auto step = loaded.step("train");
    EXPECT_TRUE(torch::equal(step.scaler()->scale, options.scaler->scale));
    EXPECT_TRUE(torch::equal(loaded.weight("train.scaler.scale"), options.scaler->scale));
    EXPECT_GT(options.scaler->scale.item<float>(), 1024);
    ASSERT_EQ(step.average()->averages.size(), 2u);
    for (size_t i = 0; i < 2; ++i)
      EXPECT_TRUE(torch::equal(step.average()->averages[i], options.average->averages[i])) << i;
    step.scaler()->scale = torch::full({}, 2.0f);
    EXPECT_NE(error_of([&] { step(scene.batches[0]); }, ErrorCode::InvalidArgument).find("another tensor"),
              std::string::npos);
  }
}

TEST(PackageStep, HasStateAndCountersOfLibTorch) {
  StepScene scene(kOptimizers[3].second);
  scene.run(0, 4);
  PackageFile file;
  scene.write(file.path());
  const auto loaded = Package::load(file.path(), {.strict = true});
  const auto& optimizer = loaded.step("train").optimizer();
  EXPECT_NE(dynamic_cast<const to::AdamW*>(&optimizer), nullptr);
  for (const auto& item : scene.net->named_parameters()) {
    const auto weight = loaded.weight(item.key());
    const auto& own = static_cast<const to::AdamWParamState&>(
        *scene.optimizer->state().at(item.value().unsafeGetTensorImpl()));
    const auto& got =
        static_cast<const to::AdamWParamState&>(*optimizer.state().at(weight.unsafeGetTensorImpl()));
    EXPECT_EQ(got.step(), 4);
    EXPECT_TRUE(torch::equal(got.exp_avg(), own.exp_avg()));
    EXPECT_TRUE(torch::equal(loaded.weight("train.max_exp_avg_sq." + item.key()), own.max_exp_avg_sq()));
  }
  EXPECT_EQ(loaded.parameters().size(), 2u);
}

TEST(PackageStep, ReadsHyperparametersAtEachCall) {
  StepScene scene(kOptimizers[1].second);
  scene.run(0, 2);
  PackageFile file, saved("saved");
  scene.write(file.path());
  const auto loaded = Package::load(file.path(), {.strict = true});
  const auto step = loaded.step("train");
  for (int i = 2; i < 8; ++i) {
    const auto lr = 0.1 / i;
    scene.optimizer->param_groups()[0].options().set_lr(lr);
    if (i % 2 == 0)
      step.set("lr", lr);
    else
      step.optimizer().param_groups()[0].options().set_lr(lr);
    expect_same_course(scene, loaded, i, i + 1);
  }
  loaded.save(saved.path());
  const auto again = Package::load(saved.path()).step("train");
  EXPECT_EQ(again.optimizer().param_groups()[0].options().get_lr(), 0.1 / 7);
  EXPECT_NE(error_of([&] { step.set("beta1", 1); }, ErrorCode::InvalidArgument).find("SGD"),
            std::string::npos);
}

TEST(PackageStep, TrainsAModuleThatSharesItsParameters) {
  StepScene scene(kOptimizers[3].second);
  scene.run(0, 3);
  PackageFile file;
  scene.write(file.path());
  for (const bool late : {false, true}) {
    auto net = std::make_shared<MatrixNet>();
    {
      const at::NoGradGuard no_grad;
      for (const auto& item : scene.net->named_parameters())
        net->named_parameters()[item.key()].copy_(item.value());
    }
    const auto loaded = Package::load(file.path(), {.strict = true});
    if (late) loaded.step("train").optimizer();  // it exists when the weights are replaced
    loaded.share(*net);
    StepScene other(kOptimizers[3].second);
    other.run(0, 3);
    expect_same_course(other, loaded, 3, 6);
    for (const auto& item : other.net->named_parameters())
      EXPECT_TRUE(torch::equal(net->named_parameters()[item.key()], item.value())) << late << item.key();
  }
}

TEST(PackageStep, IsInAPackageWithTheLossItself) {
  StepScene scene(kOptimizers[3].second);
  scene.run(0, 2);
  auto loss = antegrad::compile([net = scene.net](const at::Tensor& x) { return net->forward(x).sum(); });
  const auto before = loss(scene.batches[0]);
  PackageFile file;
  package(file.path(), {{"loss", loss}, {"train", *scene.step}}, PackageOptions().name_weights(*scene.net));
  const auto loaded = Package::load(file.path(), {.strict = true});
  EXPECT_TRUE(torch::equal(loaded.function("loss")(scene.batches[0]).toTensor(), before));
  expect_same_course(scene, loaded, 2, 4);
  EXPECT_TRUE(torch::equal(loaded.function("loss")(scene.batches[0]).toTensor(), loss(scene.batches[0])));
  EXPECT_NE(loaded.text().find("training step train(tensor) -> tensor, AdamW"), std::string::npos)
      << loaded.text();
}

TEST(PackageStep, NeedsWeightsThatAreNotInTheFile) {
  StepScene scene(kOptimizers[1].second);
  scene.run(0, 2);
  PackageFile file;
  package(file.path(), {{"train", *scene.step}},
          PackageOptions{.weights = PackagedWeights::External}.name_weights(*scene.net));
  const auto loaded = Package::load(file.path(), {.strict = true});
  const auto step = loaded.step("train");
  EXPECT_NE(error_of([&] { step(scene.batches[0]); }, ErrorCode::InvalidArgument).find("was not given"),
            std::string::npos);
  NamedTensors given;
  for (const auto& item : scene.net->named_parameters()) {
    given.emplace_back(item.key(), item.value().detach().clone().set_requires_grad(true));
    const auto& state = static_cast<const to::SGDParamState&>(
        *scene.optimizer->state().at(item.value().unsafeGetTensorImpl()));
    given.emplace_back("train.momentum_buffer." + item.key(), state.momentum_buffer().clone());
  }
  loaded.replace(given);
  expect_same_course(scene, loaded, 2, 5);
}

TEST(PackageStep, IsCompiledAnewFromItsGraphs) {
  for (const auto& [name, make] : {kOptimizers[3], kOptimizers[8]}) {
    SCOPED_TRACE(name);
    StepScene scene(make);
    scene.run(0, 2);
    PackageFile file;
    scene.write(file.path());
    expect_same_course(scene, Package::load(file.path(), {.ir_only = true}), 2, 4);
  }
}

TEST(PackageStep, CompilesFormulasThatTheFileLacks) {
  StepScene scene(kOptimizers[0].second);
  scene.run(0, 2);
  PackageFile file;
  scene.write(file.path());
  for (const bool strict : {true, false}) {
    const auto loaded = Package::load(file.path(), {.strict = strict});
    const auto step = loaded.step("train");
    step.set("momentum", 0.9);
    static_cast<to::SGDOptions&>(scene.optimizer->param_groups()[0].options()).momentum(0.9);
    if (!strict) return expect_same_course(scene, loaded, 2, 5);
    const auto before = loaded.parameters()[0].clone();
    EXPECT_NE(
        error_of([&] { step(scene.batches[0]); }, ErrorCode::CacheMiss).find("the optimizer of 'train'"),
        std::string::npos);
    EXPECT_TRUE(torch::equal(loaded.parameters()[0], before));
  }
}

TEST(PackageStep, IsATrainerInC) {
  StepScene scene(kOptimizers[3].second);
  scene.run(0, 2);
  PackageFile file, saved("saved");
  scene.write(file.path());
  antegrad_trainer* trainer = nullptr;
  EXPECT_EQ(antegrad_load_package_step(file.path().c_str(), "other", nullptr, &trainer),
            ANTEGRAD_ERROR_INVALID_ARGUMENT);
  ASSERT_EQ(antegrad_load_package_step(file.path().c_str(), nullptr, nullptr, &trainer), ANTEGRAD_OK)
      << antegrad_last_error();
  ASSERT_EQ(antegrad_trainer_set(trainer, "lr", 0.002), ANTEGRAD_OK) << antegrad_last_error();
  EXPECT_EQ(antegrad_trainer_set(trainer, "momentum", 1), ANTEGRAD_ERROR_INVALID_ARGUMENT);
  scene.optimizer->param_groups()[0].options().set_lr(0.002);
  for (int i = 2; i < 5; ++i) {
    antegrad_tensor input{
        scene.batches[i].data_ptr(), scene.batches[i].nbytes(), ANTEGRAD_FLOAT32, 2, {6, 4}, nullptr};
    float loss = 0;
    antegrad_tensor output{&loss, sizeof loss, ANTEGRAD_FLOAT32, 0, {}, nullptr};
    ASSERT_EQ(antegrad_train(trainer, &input, 1, &output, 1), ANTEGRAD_OK) << antegrad_last_error();
    EXPECT_EQ(loss, (*scene.step)(scene.batches[i]).item<float>()) << i;
  }
  EXPECT_EQ(antegrad_trainer_load(trainer, file.path().c_str()), ANTEGRAD_ERROR_INVALID_ARGUMENT);
  ASSERT_EQ(antegrad_trainer_save(trainer, saved.path().c_str()), ANTEGRAD_OK) << antegrad_last_error();
  antegrad_trainer_free(trainer);
  expect_same_course(scene, Package::load(saved.path(), {.strict = true}), 5, 7);
}

TEST(PackageStep, RefusesWhatItCannotContinue) {
  StepScene scene(kOptimizers[3].second);
  PackageFile file;
  const auto why = [&](const auto& work) { return error_of(work, ErrorCode::InvalidArgument); };
  EXPECT_NE(why([&] { scene.write(file.path()); }).find("it has not been called"), std::string::npos);
  scene.run(0, 1);
  EXPECT_NE(why([&] {
              package(file.path(), {{"a", *scene.step}, {"b", *scene.step}});
            }).find("the same optimizer"),
            std::string::npos);
  scene.write(file.path());
  const auto& frozen = scene.net->first->weight;
  frozen.set_requires_grad(false);
  EXPECT_NE(why([&] { scene.write(file.path()); }).find("other parameters"), std::string::npos);
  frozen.set_requires_grad(true);
  const auto loaded = Package::load(file.path(), {.strict = true});
  EXPECT_NE(why([&] { loaded.step("test"); }).find("no training step \"test\""), std::string::npos);
  const auto step = loaded.step("train");
  step.optimizer().add_param_group(to::OptimizerParamGroup({torch::ones({2}).requires_grad_()}));
  EXPECT_NE(why([&] { step(scene.batches[0]); }).find("other parameters"), std::string::npos);
}

TEST(PackageStepChild, DISABLED_TrainsWithoutACompiler) {
  const auto loaded = Package::load(std::getenv("PACKAGE"), {.strict = true});
  std::vector<at::Tensor> data;
  torch::load(data, std::getenv("DATA"));
  const auto step = loaded.step("train");
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(torch::equal(step(data[2 * i]).toTensor(), data[2 * i + 1])) << i;
  for (const auto& note : loaded.notes()) ASSERT_NE(note.find("of the file"), note.npos) << note;
}

TEST(PackageStep, TrainsInAnotherProcessWithoutACompiler) {
  for (const auto& [name, make] : {kOptimizers[3], kOptimizers[9]}) {
    StepOptions options;
    options.clip_norm = 0.1;
    StepScene scene(make, options);
    scene.run(0, 3);
    PackageFile file, data("data");
    scene.write(file.path());
    std::vector<at::Tensor> kept;
    for (int i = 3; i < 7; ++i) {
      kept.push_back(scene.batches[i]);
      kept.push_back((*scene.step)(scene.batches[i]));
    }
    torch::save(kept, data.path());
    EXPECT_EQ(run_child("PackageStepChild.DISABLED_TrainsWithoutACompiler",
                        {{"PACKAGE", file.path()}, {"DATA", data.path()}}),
              0)
        << name;
  }
}

}  // namespace
