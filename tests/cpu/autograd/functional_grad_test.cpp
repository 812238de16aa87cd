// value_and_grad() and grad(): gradients as results, without autograd nodes.
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <thread>

#include "support/seeds.h"

namespace {

using at::Tensor;

Tensor energy(const Tensor& x, const Tensor& y) { return (x.sin() * y).pow(2).sum(); }

TEST(ValueAndGrad, EqualsEager) {
  antegrad::test::manual_seed(1);
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

// --- inside functions that run uncompiled

Tensor weighted(const Tensor& w, const Tensor& x) { return (w * x).pow(2).sum(); }

/// A gradient descent step and the remaining loss, whose gradient contains a second derivative.
Tensor after_a_step(const Tensor& w, const Tensor& x) {
  return (w - 0.1 * antegrad::grad(weighted)(w, x)[0]).pow(2).sum();
}

Tensor expected_gradient(const Tensor& w, const Tensor& x) {
  auto leaf = w.detach().clone().requires_grad_();
  const auto inner = torch::autograd::grad({weighted(leaf, x)}, {leaf}, {}, true, true)[0];
  return torch::autograd::grad({(leaf - 0.1 * inner).pow(2).sum()}, {leaf})[0];
}

antegrad::Options uncompiled(bool background) {
  antegrad::Options options;
  if (background) options.compile = antegrad::Compile::Background;
  options.unsupported = antegrad::Unsupported::Eager;
  return options;
}

TEST(Grad, InsideAFunctionThatRunsUncompiledIsDifferentiable) {
  const auto x = torch::tensor({1.0, 2.0}), start = torch::tensor({1.0, 1.0});
  for (bool background : {true, false}) {
    auto f = antegrad::compile(
        [&](const Tensor& w, const Tensor& x) {
          if (!background && x.sum().item<double>() < 0) return w.sum();
          return after_a_step(w, x);
        },
        uncompiled(background));
    for (int call = 0; call < 3; ++call) {
      auto w = start.clone().requires_grad_();
      f(w, x).backward();
      EXPECT_TRUE(torch::allclose(w.grad(), expected_gradient(start, x))) << background << call;
    }
    EXPECT_GT(f.report().waiting_calls + f.report().eager_calls, 0U);
  }
}

TEST(Grad, OfGradInsideAGradThatRunsUncompiled) {
  const auto x = torch::randn({3}, torch::kFloat64), y = torch::randn({3}, torch::kFloat64);
  auto first = [](const Tensor& x, const Tensor& y) {
    if (x.sum().item<double>() > 1e9) return x.sum();
    return antegrad::grad(energy)(x, y)[0].pow(2).sum();
  };
  auto third = [&](const Tensor& x, const Tensor& y) {
    return antegrad::grad(first, uncompiled(false))(x, y)[0].pow(2).sum();
  };
  const auto found = antegrad::grad(third, uncompiled(false))(x, y);
  auto ex = x.clone().requires_grad_(), ey = y.clone().requires_grad_();
  const auto once = torch::autograd::grad({energy(ex, ey)}, {ex}, {}, true, true)[0].pow(2).sum();
  const auto twice = torch::autograd::grad({once}, {ex}, {}, true, true)[0].pow(2).sum();
  const auto thrice = torch::autograd::grad({twice}, {ex, ey});
  EXPECT_TRUE(torch::allclose(found[0], thrice[0]));
  EXPECT_TRUE(torch::allclose(found[1], thrice[1]));
  for (const auto& gradient : found) EXPECT_FALSE(gradient.requires_grad());
}

TEST(Grad, InsideAnUncompiledFunctionUnderNoGradHasNoHistory) {
  auto f = antegrad::compile(
      [](const Tensor& w, const Tensor& x) { return antegrad::grad(weighted)(w, x)[0]; }, uncompiled(true));
  const auto w = torch::ones({2}, torch::requires_grad()), x = torch::ones({2});
  EXPECT_TRUE(f(w, x).requires_grad());
  const torch::NoGradGuard no_grad;
  EXPECT_FALSE(f(w, x).requires_grad());
}

TEST(Grad, AnotherThreadIsNotInsideTheFunction) {
  auto f = antegrad::compile(
      [](const Tensor& w, const Tensor& x) {
        if (w.sum().item<float>() < 0) return w;
        bool has_history = true;
        std::thread([&] { has_history = antegrad::grad(weighted)(w, x)[0].requires_grad(); }).join();
        EXPECT_FALSE(has_history);
        return antegrad::grad(weighted)(w, x)[0];
      },
      uncompiled(false));
  const auto w = torch::ones({2}, torch::requires_grad()), x = torch::ones({2});
  EXPECT_TRUE(f(w, x).requires_grad());
  EXPECT_FALSE(antegrad::grad(weighted)(w, x)[0].requires_grad());  // not inside a function
}

struct GradInBackward : torch::autograd::Function<GradInBackward> {
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& x) {
    context->save_for_backward({x});
    return x.pow(3).sum();
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    auto cube = [](const Tensor& x) { return x.pow(3).sum(); };
    return {gradients[0] * antegrad::grad(cube)(context->get_saved_variables()[0])[0]};
  }
};

TEST(Grad, InABackwardPassWithCreateGraphIsDifferentiable) {
  auto x = torch::tensor({1.0, 2.0}).requires_grad_();
  const auto first = torch::autograd::grad({GradInBackward::apply(x)}, {x}, {}, true, true)[0];
  EXPECT_TRUE(torch::allclose(torch::autograd::grad({first.sum()}, {x})[0], 6 * x));
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
        "sum() or a mean(). After aten.detach, aten.mul.Scalar.");
  }
}

}  // namespace
