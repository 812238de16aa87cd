// Moving averages of parameters in compiled steps, against averages taken after LibTorch's step.
#include <antegrad/optim.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "error/expect_error.h"
#include "support/seeds.h"

namespace antegrad::test {
namespace {

using at::Tensor;
namespace to = torch::optim;

struct Scene {
  std::vector<Tensor> eager, compiled, expected;
  std::shared_ptr<WeightAverage> average = std::make_shared<WeightAverage>(0.9);

  explicit Scene(at::ScalarType dtype = at::kFloat) {
    for (const auto& start :
         {torch::randn({3, 5}, dtype), torch::randn({9000}, dtype), torch::randn({6, 4}, dtype).t(),
          torch::randn({}, dtype), torch::randn({7}, dtype)}) {
      eager.push_back(start.clone().requires_grad_());
      compiled.push_back(start.clone().requires_grad_());
    }
  }
  void set_gradients(size_t count) {
    for (size_t i = 0; i < eager.size(); ++i) {
      const auto gradient = i < count ? torch::randn_like(eager[i]).detach() : Tensor();
      eager[i].mutable_grad() = gradient;
      compiled[i].mutable_grad() = gradient.defined() ? gradient.clone() : Tensor();
    }
  }
  void average_eager(double decay) {
    const bool first = expected.empty();
    for (size_t i = 0; i < eager.size(); ++i) {
      const auto now = eager[i].detach().to(at::kDouble);
      if (first)
        expected.push_back(now.clone());
      else
        expected[i] = expected[i] * decay + now * (1 - decay);
    }
  }
  void expect_equal(double tolerance) const {
    ASSERT_EQ(average->averages.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(average->averages[i].to(at::kDouble).allclose(expected[i], tolerance, tolerance)) << i;
      EXPECT_FALSE(average->averages[i].requires_grad());
      EXPECT_EQ(average->averages[i].scalar_type(), compiled[i].scalar_type());
    }
  }
};

template <class Optimizer, class OptimizerOptions>
void expect_averages(const OptimizerOptions& options, at::ScalarType dtype, double tolerance) {
  test::manual_seed(1);
  Scene scene(dtype);
  Optimizer eager(scene.eager, options), compiled(scene.compiled, options);
  StepOptions step_options;
  step_options.average = scene.average;
  const auto step = compiled_step(compiled, step_options);
  for (int i = 0; i < 4; ++i) {
    scene.set_gradients(i == 1 ? 2 : 4);  // the last parameter never has a gradient
    if (i == 2) scene.average->decay = 0.5;
    eager.step();
    step();
    scene.average_eager(scene.average->decay);
    scene.expect_equal(tolerance);
  }
  EXPECT_EQ(step.report().eager_calls, 0U);
}

TEST(WeightAverage, OfEveryMethod) {
  expect_averages<to::SGD>(to::SGDOptions(0.1), at::kFloat, 1e-5);
  expect_averages<to::SGD>(to::SGDOptions(0.1).momentum(0.9), at::kDouble, 1e-9);
  expect_averages<to::Adam>(to::AdamOptions(0.1).amsgrad(true), at::kFloat, 1e-4);
  expect_averages<to::AdamW>(to::AdamWOptions(0.1), at::kFloat, 1e-4);
  expect_averages<to::RMSprop>(to::RMSpropOptions(0.1).centered(true).momentum(0.9), at::kDouble, 1e-6);
  expect_averages<to::SGD>(to::SGDOptions(0.1), at::kBFloat16, 0.1);
}

TEST(WeightAverage, SharedMemory) {
  test::manual_seed(2);
  const auto make = [](const Tensor& start) {
    const auto memory = start.clone();
    return std::vector<Tensor>{memory.narrow(0, 0, 6).detach().requires_grad_(),
                               memory.narrow(0, 3, 6).detach().requires_grad_()};
  };
  const auto start = torch::randn({9});
  const auto eager = make(start), compiled = make(start);
  to::SGD one(eager, to::SGDOptions(0.1)), other(compiled, to::SGDOptions(0.1));
  StepOptions options;
  options.average = std::make_shared<WeightAverage>(0.9);
  const auto step = compiled_step(other, options);
  std::vector<Tensor> expected;
  for (int i = 0; i < 3; ++i) {
    for (size_t k = 0; k < 2; ++k) {
      eager[k].mutable_grad() = torch::randn({6});
      compiled[k].mutable_grad() = eager[k].grad().clone();
    }
    one.step();
    step();
    for (size_t k = 0; k < 2; ++k) {
      if (i == 0)
        expected.push_back(eager[k].detach().clone());
      else
        expected[k] = expected[k] * 0.9 + eager[k].detach() * 0.1;
      EXPECT_TRUE(options.average->averages[k].allclose(expected[k], 1e-5, 1e-6)) << i << " " << k;
    }
  }
}

TEST(WeightAverage, IsContinuedAndLeftAloneBySkippedSteps) {
  test::manual_seed(3);
  const auto parameter = torch::ones({4}).requires_grad_();
  to::SGD optimizer({parameter}, to::SGDOptions(1));
  StepOptions options;
  options.skip_nonfinite = true;
  options.average = std::make_shared<WeightAverage>(0.5);
  options.average->averages = {torch::full({4}, 3.0)};
  const auto* memory = options.average->averages[0].const_data_ptr();
  const auto step = compiled_step(optimizer, options);
  parameter.mutable_grad() = torch::full({4}, INFINITY);
  step();
  EXPECT_TRUE(options.average->averages[0].equal(torch::full({4}, 3.0)));
  parameter.mutable_grad() = torch::zeros({4});
  step();
  EXPECT_TRUE(options.average->averages[0].allclose(torch::full({4}, 2.0)));
  EXPECT_EQ(options.average->averages[0].const_data_ptr(), memory);
}

TEST(WeightAverage, Refusals) {
  const auto parameter = torch::ones({4}).requires_grad_();
  to::SGD optimizer({parameter}, to::SGDOptions(1));
  StepOptions options;
  options.average = std::make_shared<WeightAverage>(1.5);
  expect_error(ErrorCode::InvalidArgument, "options", "the decay of the average is 1.5", {},
               [&] { compiled_step(optimizer, options); });
  options.average = std::make_shared<WeightAverage>();
  options.average->averages = {torch::ones({5})};
  const auto step = compiled_step(optimizer, options);
  parameter.mutable_grad() = torch::ones({4});
  expect_error(ErrorCode::InvalidArgument, "optimizer",
               "average 0 has sizes [5] and type Float, and its parameter sizes [4] and type Float", {},
               [&] { step(); });
  EXPECT_TRUE(parameter.detach().equal(torch::ones({4})));
  options.average->averages = {Tensor(), torch::ones({5})};
  expect_error(ErrorCode::InvalidArgument, "optimizer", "there are 2 averages for 1 parameters", {},
               [&] { step(); });
}

}  // namespace
}  // namespace antegrad::test
