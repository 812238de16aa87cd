// What becomes of the gradients of training steps: used, accumulated or kept.
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "support/seeds.h"

namespace antegrad::test {
namespace {

using at::Tensor;
namespace to = torch::optim;

/// The sum of a * b, whose gradients are the very tensors that it has read.
struct SumOfProducts : torch::autograd::Function<SumOfProducts> {
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& a, const Tensor& b) {
    context->save_for_backward({a, b});
    return (a * b).sum();
  }
  static std::vector<Tensor> backward(torch::autograd::AutogradContext* context, std::vector<Tensor>) {
    const auto saved = context->get_saved_variables();
    return {saved[1], saved[0]};
  }
};

struct Weights {
  Tensor a, b, c, d;
  explicit Weights(uint64_t seed) {
    test::manual_seed(seed);
    for (auto* weight : {&a, &b, &c, &d}) *weight = torch::randn({4}, at::kDouble).requires_grad_();
  }
  std::vector<Tensor> list() const { return {a, b, c, d}; }
  Tensor loss(const Tensor& x) const {
    return SumOfProducts::apply(a, b) + SumOfProducts::apply(c, x) + SumOfProducts::apply(d, d) +
           (a + c + d).sum() / 8;
  }
};

void expect_the_loop_with(StepOptions options) {
  const Weights eager(1), compiled(1);
  to::SGD eager_optimizer(eager.list(), to::SGDOptions(0.1).momentum(0.5));
  to::SGD optimizer(compiled.list(), to::SGDOptions(0.1).momentum(0.5));
  const auto step = training_step([&](const Tensor& x) { return compiled.loss(x); }, optimizer, options);
  auto x = torch::randn({4}, at::kDouble);
  for (int64_t i = 0; i < 4 * options.accumulate; ++i) {
    x.normal_();  // the memory of the last batch is used again
    if (i % options.accumulate == 0) eager_optimizer.zero_grad();
    eager.loss(x).backward();
    step(x);
    if ((i + 1) % options.accumulate != 0) continue;
    for (auto& weight : eager.list()) weight.mutable_grad() /= options.accumulate;
    eager_optimizer.step();
    for (size_t k = 0; k < 4; ++k) {
      EXPECT_TRUE(at::allclose(compiled.list()[k], eager.list()[k], 1e-9, 1e-12)) << i << ": " << k;
      if (options.gradients == Gradients::Drop) continue;
      const auto gradient = compiled.list()[k].grad();
      EXPECT_TRUE(at::allclose(gradient, eager.list()[k].grad(), 1e-9, 1e-12)) << i << ": " << k;
      EXPECT_EQ(gradient.strides(), eager.list()[k].grad().strides()) << k;
      EXPECT_EQ(gradient.storage().use_count(), 1u) << k;
    }
  }
}

TEST(StepGradients, HaveMemoryOfTheirOwn) {
  StepOptions options;
  expect_the_loop_with(options);
  options.gradients = Gradients::Keep;
  expect_the_loop_with(options);
  options.accumulate = 3;
  expect_the_loop_with(options);
}

TEST(StepGradients, AreNotKeptOfFrozenParameters) {
  const Weights weights(1);
  to::SGD optimizer(weights.list(), to::SGDOptions(0.1));
  StepOptions options;
  options.gradients = Gradients::Keep;
  const auto step = training_step([&](const Tensor& x) { return weights.loss(x); }, optimizer, options);
  const auto x = torch::ones({4}, at::kDouble);
  step(x);
  EXPECT_TRUE(weights.a.grad().defined());
  Tensor(weights.a).set_requires_grad(false);
  const auto before = weights.a.detach().clone();
  step(x);
  EXPECT_FALSE(weights.a.grad().defined());
  EXPECT_TRUE(at::equal(weights.a, before));
}

TEST(StepGradients, StayAccumulatedWhenACallThrows) {
  const auto weight = torch::zeros({2}).requires_grad_(), table = torch::zeros({2}).requires_grad_();
  to::SGD optimizer({weight, table}, to::SGDOptions(1.0));
  StepOptions options;
  options.accumulate = 2;
  options.clip_norm = 1e6;
  options.error_if_nonfinite = true;
  const auto step = training_step(
      [&](const Tensor& x, const Tensor& rows) {
        return (weight * x).sum() + table.index_select(0, rows).sum();
      },
      optimizer, options);
  const auto x = torch::ones({2}), rows = torch::arange(2);
  step(x, rows);
  EXPECT_THROW(step(x, rows + 5), std::exception);
  EXPECT_THROW(step(x / 0, rows), std::exception);  // in the update
  EXPECT_TRUE(at::equal(weight, torch::zeros({2})));
  step(x * 3, rows);
  EXPECT_TRUE(step.last().updated);
  EXPECT_TRUE(at::equal(weight, torch::full({2}, -2.0)));
  EXPECT_TRUE(at::equal(table, torch::full({2}, -1.0)));
}

TEST(StepGradients, StayAccumulatedWhenParametersAreAdded) {
  const auto weight = torch::zeros({1}).requires_grad_(), late = torch::zeros({1}).requires_grad_();
  to::SGD optimizer({weight}, to::SGDOptions(1.0));
  StepOptions options;
  options.accumulate = 2;
  const auto step =
      training_step([&](const Tensor& x) { return ((weight + late) * x).sum(); }, optimizer, options);
  step(torch::ones({1}));
  optimizer.add_param_group(to::OptimizerParamGroup({late}));
  step(torch::full({1}, 3.0));
  EXPECT_TRUE(step.last().updated);
  EXPECT_EQ(weight.item<float>(), -2);
  EXPECT_EQ(late.item<float>(), -1.5);
}

TEST(StepGradients, StayAccumulatedWhileAParameterIsFrozen) {
  auto weight = torch::zeros({1}).requires_grad_(), other = torch::zeros({1}).requires_grad_();
  to::SGD optimizer({weight, other}, to::SGDOptions(1.0));
  StepOptions options;
  options.accumulate = 4;
  const auto step =
      training_step([&](const Tensor& x) { return ((weight + other) * x).sum(); }, optimizer, options);
  for (int i = 0; i < 8; ++i) {
    other.set_requires_grad(i != 1 && i != 7);
    step(torch::ones({1}));
    EXPECT_EQ(weight.item<float>(), static_cast<float>(-(i + 1) / 4)) << i;
    EXPECT_EQ(other.item<float>(), i < 3 ? 0.0f : -0.75f) << i;  // frozen at the second update
  }
}

}  // namespace
}  // namespace antegrad::test
