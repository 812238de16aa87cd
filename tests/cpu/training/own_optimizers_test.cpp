// The optimizers of <antegrad/optimizers.h> as torch::optim::Optimizers: training, checkpoints, groups,
// schedulers, averages; compiled beside their own step().
#include <antegrad/antegrad.h>
#include <antegrad/optimizers.h>

#include "support/optimizer_twins.h"
#include "support/seeds.h"

namespace antegrad::test {
namespace {

using at::Tensor;
namespace nn = torch::nn;
namespace own = antegrad;
using torch::optim::OptimizerParamGroup;

struct NamedMaker {
  const char* name;
  MakeOptimizer make;
};

std::vector<NamedMaker> own_optimizers() {
  return {{"Lion", maker<own::Lion>(own::LionOptions(0.003).weight_decay(0.1))},
          {"NAdam", maker<own::NAdam>(own::NAdamOptions(0.01))},
          {"Lamb", maker<own::Lamb>(own::LambOptions(0.01))},
          {"Adafactor", maker<own::Adafactor>(own::AdafactorOptions(0.01))},
          {"Muon", maker<own::Muon>(own::MuonOptions(0.01).ns_dtype(at::kDouble))}};
}

/// All parameters are matrices, which Muon wants.
nn::Sequential matrices_only() {
  test::manual_seed(1);
  nn::Sequential net(nn::Linear(nn::LinearOptions(6, 16).bias(false)), nn::Tanh(),
                     nn::Linear(nn::LinearOptions(16, 1).bias(false)));
  net->to(at::kDouble);
  return net;
}

Tensor loss_of(nn::Sequential& net, const Tensor& x) {
  return (net->forward(x) - x.sum(1, true).sin()).pow(2).mean();
}

void expect_close(const nn::Sequential& a, const nn::Sequential& b) {
  for (size_t i = 0; i < a->parameters().size(); ++i) {
    EXPECT_TRUE(at::isfinite(a->parameters()[i]).all().item<bool>());
    EXPECT_TRUE(at::allclose(a->parameters()[i], b->parameters()[i], 1e-7, 1e-9)) << i;
  }
}

TEST(OwnOptimizers, TrainForAHundredStepsInEveryWay) {
  for (const auto& [name, make] : own_optimizers()) {
    SCOPED_TRACE(name);
    auto eager = matrices_only(), stepped = matrices_only(), trained = matrices_only();
    const auto eager_optimizer = make({OptimizerParamGroup(eager->parameters())}),
               step_optimizer = make({OptimizerParamGroup(stepped->parameters())}),
               train_optimizer = make({OptimizerParamGroup(trained->parameters())});
    const auto step = compiled_step(*step_optimizer);
    StepOptions options;
    options.options.watch = {trained.ptr()};
    const auto train =
        training_step([&](const Tensor& x) { return loss_of(trained, x); }, *train_optimizer, options);
    double first = 0, last = 0;
    for (int i = 0; i < 100; ++i) {
      const auto x = torch::randn({32, 6}, at::kDouble) * 0.4;
      eager->zero_grad();
      const auto loss = loss_of(eager, x);
      loss.backward();
      eager_optimizer->step();
      (i < 10 ? first : last) += loss.item<double>();
      stepped->zero_grad();
      loss_of(stepped, x).backward();
      step();
      ASSERT_TRUE(at::allclose(train(x), loss.detach(), 1e-7, 1e-9)) << i;
    }
    expect_close(eager, stepped);
    expect_close(eager, trained);
    EXPECT_LT(last / 90, first / 10);  // it learns
    EXPECT_EQ(step.report().captures, runs_libtorch_kernels() ? 0u : 1u);
    EXPECT_EQ(step.report().eager_calls, 0u);
  }
}

TEST(OwnOptimizers, ContinueCheckpointsOfEachOther) {
  for (const auto& [name, make] : own_optimizers()) {
    SCOPED_TRACE(name);
    test::manual_seed(2);
    Twins twins({{torch::randn({4, 3}, at::kDouble), torch::randn({2, 5}, at::kDouble)}}, make);
    const auto steps = [&](int count) {
      for (int i = 0; i < count; ++i) {
        twins.set_gradients({torch::randn({4, 3}), torch::randn({2, 5})});
        twins.step();
        ASSERT_EQ(twins.difference(), "");
      }
    };
    steps(3);
    std::stringstream from_eager, from_compiled;
    torch::save(*twins.eager, from_eager);
    torch::save(*twins.compiled, from_compiled);
    torch::load(*twins.compiled, from_eager);
    torch::load(*twins.eager, from_compiled);
    steps(3);
  }
}

TEST(OwnOptimizers, SaveAllOptions) {
  const auto p = torch::randn({2, 2}).requires_grad_();
  const auto saved = [&](auto& from, auto& to) {
    std::stringstream stream;
    torch::save(from, stream);
    torch::load(to, stream);
  };
  own::Muon muon({p}, own::MuonOptions(0.5)
                          .momentum(0.25)
                          .nesterov(false)
                          .ns_coefficients({1.5, -0.5, 0})
                          .ns_steps(7)
                          .adjust_lr(own::MuonRate::MatchRmsAdamW)
                          .ns_dtype(at::kFloat)),
      other_muon({p});
  saved(muon, other_muon);
  const auto& m = static_cast<own::MuonOptions&>(other_muon.param_groups()[0].options());
  EXPECT_EQ(m.get_lr(), 0.5);
  EXPECT_EQ(m.momentum(), 0.25);
  EXPECT_FALSE(m.nesterov());
  EXPECT_EQ(m.ns_coefficients(), own::MuonOptions::coefficients_t(1.5, -0.5, 0));
  EXPECT_EQ(m.ns_steps(), 7);
  EXPECT_EQ(m.adjust_lr(), own::MuonRate::MatchRmsAdamW);
  EXPECT_EQ(m.ns_dtype(), at::kFloat);
  own::Adafactor adafactor({p}, own::AdafactorOptions(0.5).eps1(0.125).d(3)), other_adafactor({p});
  saved(adafactor, other_adafactor);
  auto& a = static_cast<own::AdafactorOptions&>(other_adafactor.param_groups()[0].options());
  EXPECT_EQ(a.eps1(), 0.125);
  EXPECT_EQ(a.d(), 3);
  a.eps1(std::nullopt);
  saved(other_adafactor, adafactor);
  EXPECT_FALSE(static_cast<own::AdafactorOptions&>(adafactor.param_groups()[0].options()).eps1().has_value());
}

TEST(OwnOptimizers, FollowSchedulersWithoutNewCode) {
  for (const auto& [name, make] : own_optimizers()) {
    SCOPED_TRACE(name);
    test::manual_seed(3);
    Twins twins({{torch::randn({4, 3}, at::kDouble)}}, make);
    torch::optim::StepLR eager_schedule(*twins.eager, 1, 0.9), schedule(*twins.compiled, 1, 0.9);
    for (int i = 0; i < 20; ++i) {
      twins.set_gradients({torch::randn({4, 3})});
      twins.step();
      ASSERT_EQ(twins.difference(), "") << i;
      eager_schedule.step();
      schedule.step();
    }
    EXPECT_LE(twins.compiled_step().report().captures, 1u);
  }
}

TEST(OwnOptimizers, TakeGroupsGradientsThatComeAndGoAndClipping) {
  for (const auto& [name, make] : own_optimizers()) {
    SCOPED_TRACE(name);
    test::manual_seed(4);
    StepOptions options;
    options.clip_norm = 0.5;
    const auto slower = [&make = make](std::vector<OptimizerParamGroup> groups) {
      auto optimizer = make(std::move(groups));
      optimizer->param_groups()[1].options().set_lr(1e-4);
      return optimizer;
    };
    Twins twins({{torch::randn({4, 3}, at::kDouble)}, {torch::randn({6, 2}, at::kDouble)}}, slower, options);
    for (int i = 0; i < 6; ++i) {
      const auto second = i % 2 == 0 ? torch::randn({6, 2}) : Tensor();
      twins.set_gradients({torch::randn({4, 3}), second});
      twins.step();
      ASSERT_EQ(twins.difference(), "") << i;
    }
    EXPECT_LE(twins.compiled_step().report().captures, 2u);
  }
}

TEST(OwnOptimizers, KeepAveragesOfParameters) {
  for (const auto& [name, make] : own_optimizers()) {
    SCOPED_TRACE(name);
    test::manual_seed(5);
    StepOptions options;
    options.average = std::make_shared<WeightAverage>(0.5);
    Twins twins({{torch::randn({4, 3}, at::kDouble)}}, make, options);
    Tensor expected;
    for (int i = 0; i < 4; ++i) {
      twins.set_gradients({torch::randn({4, 3})});
      twins.step();
      const auto now = twins.compiled_parameters[0].detach().clone();
      expected = expected.defined() ? expected.lerp(now, 0.5) : now;
      EXPECT_TRUE(at::allclose(options.average->averages.at(0), expected));
    }
  }
}

}  // namespace
}  // namespace antegrad::test
