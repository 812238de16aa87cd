// compiled_step() against the optimizers' own step().
#include "error/expect_error.h"
#include "support/optimizer_twins.h"
#include "support/seeds.h"

namespace antegrad::test {
namespace {

using at::Tensor;
namespace to = torch::optim;
namespace own = antegrad;

struct NamedMaker {
  const char* name;
  MakeOptimizer make;
};

std::vector<NamedMaker> every_optimizer() {
  return {
      {"SGD", maker<to::SGD>(to::SGDOptions(0.1))},
      {"SGD, decay", maker<to::SGD>(to::SGDOptions(0.1).weight_decay(0.1))},
      {"SGD, momentum", maker<to::SGD>(to::SGDOptions(0.1).momentum(0.9).dampening(0.3).weight_decay(0.1))},
      {"SGD, Nesterov", maker<to::SGD>(to::SGDOptions(0.1).momentum(0.9).nesterov(true))},
      {"Adam", maker<to::Adam>(to::AdamOptions(0.01))},
      {"Adam, decay, amsgrad", maker<to::Adam>(to::AdamOptions(0.01).weight_decay(0.1).amsgrad(true))},
      {"AdamW", maker<to::AdamW>(to::AdamWOptions(0.01))},
      {"AdamW, no decay, amsgrad", maker<to::AdamW>(to::AdamWOptions(0.01).weight_decay(0).amsgrad(true))},
      {"Adagrad", maker<to::Adagrad>(to::AdagradOptions(0.1).initial_accumulator_value(0.1))},
      {"Adagrad, decay", maker<to::Adagrad>(to::AdagradOptions(0.1).weight_decay(0.1).lr_decay(0.2))},
      {"RMSprop", maker<to::RMSprop>(to::RMSpropOptions(0.01).weight_decay(0.1))},
      {"RMSprop, momentum", maker<to::RMSprop>(to::RMSpropOptions(0.01).momentum(0.9))},
      {"RMSprop, centered", maker<to::RMSprop>(to::RMSpropOptions(0.01).centered(true))},
      {"RMSprop, both",
       maker<to::RMSprop>(to::RMSpropOptions(0.01).centered(true).momentum(0.9).weight_decay(0.1))},
      {"Lion", maker<own::Lion>(own::LionOptions(0.01).weight_decay(0.1))},
      {"NAdam", maker<own::NAdam>(own::NAdamOptions(0.01))},
      {"NAdam, decoupled",
       maker<own::NAdam>(own::NAdamOptions(0.01).weight_decay(0.1).decoupled_weight_decay(true))},
      {"Lamb", maker<own::Lamb>(own::LambOptions(0.01))},
      {"Adafactor", maker<own::Adafactor>(own::AdafactorOptions(0.01).eps1(1e-6).weight_decay(0.1))},
  };
}

std::vector<Tensor> some_parameters(at::ScalarType dtype = at::kFloat) {
  return {torch::randn({3, 5}, dtype),
          torch::randn({}, dtype),
          torch::randn({9000}, dtype),
          torch::randn({0, 4}, dtype),
          torch::randn({6, 4}, dtype).t(),
          torch::randn({2, 3, 4, 5}, dtype).contiguous(at::MemoryFormat::ChannelsLast)};
}

std::vector<Tensor> gradients_like(const std::vector<Tensor>& parameters) {
  std::vector<Tensor> out;
  for (const auto& parameter : parameters) out.push_back(torch::randn_like(parameter).detach());
  return out;
}

void expect_steps(Twins& twins, int steps) {
  for (int i = 0; i < steps; ++i) {
    SCOPED_TRACE(c10::str("step ", i));
    twins.set_gradients(gradients_like(twins.eager_parameters));
    twins.step();
    ASSERT_EQ(twins.difference(), "");
    twins.align();
  }
  EXPECT_EQ(twins.compiled_step().report().eager_calls, 0u);
}

TEST(CompiledStep, EqualsEveryOptimizerInEveryType) {
  for (const auto dtype : {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf})
    for (const auto& [name, make] : every_optimizer()) {
      SCOPED_TRACE(c10::str(name, " of ", dtype));
      test::manual_seed(1);
      Twins twins({some_parameters(dtype)}, make);
      expect_steps(twins, 4);
      EXPECT_EQ(twins.compiled_step().report().captures, runs_libtorch_kernels() ? 0u : 1u);
    }
}

TEST(CompiledStep, TrainsForAHundredSteps) {
  for (const auto& [name, make] : every_optimizer()) {
    SCOPED_TRACE(name);
    test::manual_seed(2);
    torch::nn::Sequential net(torch::nn::Linear(6, 16), torch::nn::Tanh(),
                              torch::nn::LayerNorm(torch::nn::LayerNormOptions({16})),
                              torch::nn::Linear(16, 1));
    net->to(at::kDouble);
    auto other = std::dynamic_pointer_cast<torch::nn::SequentialImpl>(net->clone());
    const auto eager = make({to::OptimizerParamGroup(net->parameters())});
    const auto optimizer = make({to::OptimizerParamGroup(other->parameters())});
    const auto step = compiled_step(*optimizer);
    for (int i = 0; i < 100; ++i) {
      const auto x = torch::randn({8, 6}, at::kDouble);
      eager->zero_grad();
      optimizer->zero_grad();
      ((net->forward(x) - x.sum(1, true).sin()).pow(2).mean() * 0.1).backward();
      ((other->forward(x) - x.sum(1, true).sin()).pow(2).mean() * 0.1).backward();
      eager->step();
      step();
    }
    for (size_t i = 0; i < net->parameters().size(); ++i) {
      EXPECT_TRUE(at::isfinite(net->parameters()[i]).all().item<bool>());
      EXPECT_TRUE(runs_libtorch_kernels()
                      ? at::equal(net->parameters()[i], other->parameters()[i])
                      : at::allclose(net->parameters()[i], other->parameters()[i], 1e-7, 1e-8))
          << i;
    }
  }
}

TEST(CompiledStep, ReadsHyperparametersAtEachCall) {
  test::manual_seed(3);
  Twins twins({some_parameters()}, maker<to::AdamW>(to::AdamWOptions(0.01)));
  for (int i = 0; i < 1000; ++i) {
    for (auto* optimizer : {twins.eager.get(), twins.compiled.get()})
      optimizer->param_groups()[0].options().set_lr(1e-3 * (1 + i % 97) / (1.0 + i));
    if (i % 100 == 0) twins.set_gradients(gradients_like(twins.eager_parameters));
    twins.step();
    if (i % 100 == 0) ASSERT_EQ(twins.difference(), "") << i;
    twins.align();
  }
  EXPECT_LE(twins.compiled_step().report().captures, 2u);
}

TEST(CompiledStep, WorksWithSchedulers) {
  test::manual_seed(4);
  Twins twins({some_parameters()}, maker<to::SGD>(to::SGDOptions(0.5).momentum(0.9)));
  to::StepLR eager_schedule(*twins.eager, 2, 0.5), schedule(*twins.compiled, 2, 0.5);
  for (int i = 0; i < 6; ++i) {
    expect_steps(twins, 1);
    eager_schedule.step();
    schedule.step();
  }
  EXPECT_LE(twins.compiled_step().report().captures, 1u);
}

TEST(CompiledStep, TakesGroupsWithOptionsOfTheirOwn) {
  test::manual_seed(5);
  const auto make = [](std::vector<to::OptimizerParamGroup> groups) {
    groups[1].set_options(
        std::make_unique<to::AdamOptions>(to::AdamOptions(0.1).weight_decay(0.5).betas({0.5, 0.7})));
    return std::make_unique<to::Adam>(groups, to::AdamOptions(0.01));
  };
  Twins twins({some_parameters(), some_parameters(at::kDouble)}, make);
  expect_steps(twins, 3);
  const auto added = torch::randn({7});
  for (auto [optimizer, parameters] : {std::pair(twins.eager.get(), &twins.eager_parameters),
                                       std::pair(twins.compiled.get(), &twins.compiled_parameters)}) {
    parameters->push_back(added.clone().requires_grad_());
    optimizer->add_param_group(to::OptimizerParamGroup({parameters->back()}));
  }
  expect_steps(twins, 3);
}

TEST(CompiledStep, CountsNoStepOfParametersWithoutGradient) {
  for (const auto& [name, make] : every_optimizer()) {
    SCOPED_TRACE(name);
    test::manual_seed(6);
    Twins twins({some_parameters()}, make);
    for (int i = 0; i < 4; ++i) {
      auto gradients = gradients_like(twins.eager_parameters);
      gradients[static_cast<size_t>(i % 3)] = Tensor();
      if (i < 2) gradients[5] = Tensor();
      twins.set_gradients(gradients);
      twins.step();
      ASSERT_EQ(twins.difference(), "");
      twins.align();
    }
  }
}

TEST(CompiledStep, UpdatesTiedAndOverlappingParametersInOrder) {
  for (const auto& [name, make] : every_optimizer()) {
    if (std::string(name).find("Adagrad") == 0) continue;  // refuses the same parameter twice
    SCOPED_TRACE(name);
    test::manual_seed(7);
    const auto contents = torch::randn({4, 6}), gradient = torch::randn({4, 6});
    const auto part_gradient = torch::randn({2, 6});
    std::vector<Tensor> results;
    for (const bool compiled : {false, true}) {
      const auto whole = contents.clone().requires_grad_();
      const auto part = whole.detach().narrow(0, 1, 2).requires_grad_();
      const auto optimizer = make({to::OptimizerParamGroup({whole, part, whole})});
      whole.mutable_grad() = gradient;
      part.mutable_grad() = part_gradient;
      const auto step = compiled_step(*optimizer);
      for (int i = 0; i < 3; ++i) compiled ? step() : optimizer->step();
      results.push_back(whole.detach());
      const auto state = state_of(*optimizer, whole);
      results.push_back(at::tensor(state.steps));
      for (const auto& tensor : state.tensors)
        if (tensor.defined()) results.push_back(tensor);
    }
    const auto half = results.size() / 2;
    for (size_t i = 0; i < half; ++i) EXPECT_TRUE(same_values(results[i], results[half + i])) << i;
  }
}

TEST(CompiledStep, TakesGradientsInOtherLayouts) {
  test::manual_seed(8);
  Twins twins({{torch::randn({6, 4}), torch::randn({3, 3})}}, maker<to::AdamW>(to::AdamWOptions(0.1)));
  for (int i = 0; i < 2; ++i) {
    twins.set_gradients({torch::randn({4, 6}).t(), torch::randn({3, 1}).expand({3, 3})});
    twins.step();
    ASSERT_EQ(twins.difference(), "");
    twins.align();
  }
}

TEST(CompiledStep, ContinuesCheckpointsOfEachOther) {
  for (const auto& [name, make] : every_optimizer()) {
    SCOPED_TRACE(name);
    test::manual_seed(9);
    Twins twins({some_parameters(at::kDouble)}, make);
    expect_steps(twins, 2);
    std::stringstream from_eager, from_compiled;
    torch::save(*twins.eager, from_eager);
    torch::save(*twins.compiled, from_compiled);
    torch::load(*twins.compiled, from_eager);
    torch::load(*twins.eager, from_compiled);
    expect_steps(twins, 2);
  }
}

TEST(CompiledStep, ClipsByNormAndByValue) {
  for (const double type : {2.0, 1.0, 3.0, 0.0, std::numeric_limits<double>::infinity()})
    for (const double most : {0.5, 1e6}) {
      SCOPED_TRACE(c10::str("norm ", type, " of at most ", most));
      test::manual_seed(10);
      StepOptions options;
      options.clip_norm = most;
      options.norm_type = type;
      // LibTorch has no largest element of nothing.
      Twins twins({{torch::randn({30, 50}), torch::randn({}), torch::randn({3000})}},
                  maker<to::SGD>(to::SGDOptions(0.1).momentum(0.9)), options);
      expect_steps(twins, 2);
      EXPECT_NEAR(twins.compiled_step().last().gradient_norm, twins.norm, 1e-4 * twins.norm);
    }
  for (const auto dtype : {at::kFloat, at::kDouble, at::kBFloat16}) {
    StepOptions options;
    options.clip_value = 0.3;
    Twins twins({some_parameters(dtype)}, maker<to::AdamW>(to::AdamWOptions(0.1)), options);
    expect_steps(twins, 2);
  }
}

TEST(CompiledStep, LeavesGradientsAsTheyAre) {
  StepOptions options;
  options.clip_norm = 0.01;
  const auto p = torch::randn({5}).requires_grad_();
  p.mutable_grad() = torch::ones({5});
  to::SGD optimizer({p}, to::SGDOptions(0.1));
  compiled_step(optimizer, options)();
  EXPECT_TRUE(at::equal(p.grad(), torch::ones({5})));
  EXPECT_EQ(p.grad()._version(), 0);
}

TEST(CompiledStep, SkipsWhereAGradientIsNotFinite) {
  for (const double bad :
       {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    StepOptions options;
    options.skip_nonfinite = true;
    const auto p = torch::randn({2000}).requires_grad_(), q = torch::randn({3}).requires_grad_();
    to::AdamW optimizer({p, q}, to::AdamWOptions(0.1));
    const auto step = compiled_step(optimizer, options);
    const auto before = p.detach().clone();
    p.mutable_grad() = torch::ones({2000});
    q.mutable_grad() = torch::full({3}, -1e30);
    step();
    EXPECT_FALSE(step.last().skipped);
    EXPECT_FALSE(at::equal(before, p));
    const auto after = p.detach().clone();
    p.grad()[1999] = bad;
    step();
    EXPECT_TRUE(step.last().skipped);
    EXPECT_TRUE(at::equal(after, p));
    EXPECT_EQ(state_of(optimizer, p).steps, 1);
  }
}

TEST(CompiledStep, CallsTheClosureWithGradMode) {
  const auto p = torch::randn({5}).requires_grad_();
  to::SGD optimizer({p}, to::SGDOptions(0.1));
  const at::NoGradGuard no_grad;
  const auto before = p.detach().clone();
  const auto loss = compiled_step(optimizer)([&] {
    const auto value = p.pow(2).sum();
    value.backward();
    return value;
  });
  EXPECT_TRUE(at::allclose(loss, before.pow(2).sum()));
  EXPECT_TRUE(at::allclose(p, before * 0.8));
}

TEST(CompiledStep, IsInlinedWhereItIsCaptured) {
  const auto p = torch::randn({5}).requires_grad_();
  p.mutable_grad() = torch::ones({5});
  to::SGD optimizer({p}, to::SGDOptions(0.1));
  const auto step = compiled_step(optimizer);
  const auto before = p.detach().clone();
  const auto function = compile([&](const Tensor& x) {
    step();
    return x + 1;
  });
  function(torch::ones({2}));
  EXPECT_TRUE(at::allclose(p, before - 0.1));
  EXPECT_EQ(step.report().calls, 0u);
}

}  // namespace
}  // namespace antegrad::test
