// value_and_grad() and grad(): gradients as results, without autograd nodes.
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

namespace {

using at::Tensor;

Tensor energy(const Tensor& x, const Tensor& y) { return (x.sin() * y).pow(2).sum(); }

TEST(ValueAndGrad, EqualsEager) {
  torch::manual_seed(1);
  const auto x = torch::randn({3}), y = torch::randn({3});
  auto f = antegrad::value_and_grad(energy);
  for (int call = 0; call < 2; ++call) {
    const auto [value, gradients] = f(x, y);
    auto ex = x.clone().requires_grad_(), ey = y.clone().requires_grad_();
    const auto expected = energy(ex, ey);
    const auto expected_gradients = torch::autograd::grad({expected}, {ex, ey});
    EXPECT_TRUE(value.equal(expected));
    ASSERT_EQ(gradients.size(), 2U);
    EXPECT_TRUE(gradients[0].equal(expected_gradients[0]));
    EXPECT_TRUE(gradients[1].equal(expected_gradients[1]));
  }
  EXPECT_EQ(f.report().captures, 1U);
}

TEST(ValueAndGrad, HasNoHistoryWhateverItsArgumentsRequire) {
  const auto x = torch::randn({3}, torch::requires_grad()), y = torch::randn({3});
  const auto [value, gradients] = antegrad::value_and_grad(energy)(x, y);
  EXPECT_FALSE(value.requires_grad());
  for (const auto& gradient : gradients) EXPECT_FALSE(gradient.requires_grad());
  EXPECT_TRUE(c10::GradMode::is_enabled());
}

TEST(ValueAndGrad, GivesZerosForWhatTheValueDoesNotDependOn) {
  const auto gradients = antegrad::grad([](const Tensor& x, const Tensor&) { return x.sum(); })(
      torch::randn({3}), torch::randn({2}));
  ASSERT_EQ(gradients.size(), 2U);
  EXPECT_TRUE(gradients[0].equal(torch::ones({3})));
  EXPECT_TRUE(gradients[1].equal(torch::zeros({2})));
}

TEST(ValueAndGrad, SkipsTensorsThatAreNotFloating) {
  const auto gradients = antegrad::grad([](const Tensor& x, const Tensor& places, double factor) {
    return x.index_select(0, places).sum() * factor;
  })(torch::ones({4}), torch::tensor({0, 2}), 3.0);
  ASSERT_EQ(gradients.size(), 1U);
  EXPECT_TRUE(gradients[0].equal(torch::tensor({3.0F, 0.0F, 3.0F, 0.0F})));
}

TEST(ValueAndGrad, TheSameTensorTwiceIsTwoVariables) {
  const auto x = torch::tensor({2.0, 3.0});
  const auto gradients =
      antegrad::grad([](const Tensor& a, const Tensor& b) { return (a * a * b).sum(); })(x, x);
  EXPECT_TRUE(gradients[0].equal(2 * x * x));
  EXPECT_TRUE(gradients[1].equal(x * x));
}

TEST(Grad, OfGrad) {
  const auto x = torch::randn({3}, torch::kFloat64), y = torch::randn({3}, torch::kFloat64);
  auto first = [](const Tensor& x, const Tensor& y) { return antegrad::grad(energy)(x, y)[0].pow(2).sum(); };
  const auto second = antegrad::grad(first)(x, y);
  auto ex = x.clone().requires_grad_(), ey = y.clone().requires_grad_();
  const auto once = torch::autograd::grad({energy(ex, ey)}, {ex}, {}, true, true)[0].pow(2).sum();
  const auto twice = torch::autograd::grad({once}, {ex, ey});
  EXPECT_TRUE(torch::allclose(second[0], twice[0], 1e-12, 1e-12));
  EXPECT_TRUE(torch::allclose(second[1], twice[1], 1e-12, 1e-12));
}

TEST(Grad, InsideACompiledFunctionIsDifferentiable) {
  auto forces = antegrad::compile([](const Tensor& x, const Tensor& k) {
    return -antegrad::grad([](const Tensor& x, const Tensor& k) { return (k * x.pow(4)).sum(); })(x, k)[0];
  });
  const auto x = torch::randn({3}, torch::kFloat64);
  auto k = torch::full({3}, 2.0, torch::kFloat64).requires_grad_();
  forces(x, k).sum().backward();
  EXPECT_TRUE(torch::allclose(k.grad(), -4 * x.pow(3)));
}

TEST(Grad, OfModuleParametersThroughCapture) {
  torch::nn::Linear layer(3, 1);
  const auto x = torch::randn({2, 3});
  const auto gradient =
      antegrad::grad([layer](const Tensor& x) mutable { return layer->forward(x).sum(); })(x)[0];
  EXPECT_TRUE(gradient.equal(layer->weight.detach().expand({2, 3})));
  EXPECT_FALSE(layer->weight.grad().defined());
}

TEST(Grad, RefusesWhatIsNoScalar) {
  try {
    antegrad::grad([](const Tensor& x) { return x * 2; })(torch::ones({3}));
    FAIL() << "no error";
  } catch (const antegrad::Error& error) {
    EXPECT_EQ(error.code(), antegrad::ErrorCode::InvalidArgument);
    EXPECT_EQ(
        std::string(error.what()),
        "[grad] the function returns a tensor of sizes [3]. Return a tensor with one element, such as a "
        "sum() or a mean().");
  }
}

}  // namespace
