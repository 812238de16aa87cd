// retain_grad() and hooks of tensors that are written in place.
#include <gtest/gtest.h>

#include <functional>

#include "error/expect_error.h"

namespace {

using antegrad::compile;
using antegrad::ErrorCode;
using antegrad::test::expect_error;
using at::Tensor;
using Tensors = std::vector<Tensor>;

Tensor leaf() { return torch::ones({3}, torch::requires_grad()); }

TEST(RetainedGradients, OfAResultThatIsWrittenAfterwards) {
  for (bool view : {false, true}) {
    const auto body = [view](const Tensor& x) { return view ? (x * 2).view({3, 1}) : x * 2; };
    std::vector<Tensor> found[2];
    for (bool compiled : {false, true}) {
      auto x = leaf();
      auto y = compiled ? compile(body)(x) : body(x);
      Tensor seen;
      y.retain_grad();
      y.register_hook([&seen](const Tensor& gradient) { seen = gradient.clone(); });
      y.mul_(3);
      y.sin().sum().backward();
      found[compiled] = {x.grad(), y.grad(), seen.defined() ? seen : torch::zeros({})};
    }
    for (size_t i = 0; i < found[0].size(); ++i) EXPECT_TRUE(torch::allclose(found[0][i], found[1][i])) << i;
  }
}

// A captured tensor keeps its hooks through the capture.
TEST(RetainedGradients, OfACapturedTensorThatIsWritten) {
  Tensor results[2];
  for (bool compiled : {false, true}) {
    auto x = leaf();
    auto y = x * 2;
    Tensor seen;
    y.register_hook([&seen](const Tensor& gradient) { seen = gradient.clone(); });
    const auto body = [&](const Tensor& z) {
      y.mul_(z);
      return z * 2;
    };
    auto f = compile(body);
    const auto z = torch::full({3}, 3.0F);
    compiled ? f(z) : body(z);
    y.sum().backward();
    ASSERT_TRUE(seen.defined()) << compiled;
    results[compiled] = torch::stack({x.grad(), seen});
  }
  EXPECT_TRUE(results[0].equal(results[1])) << results[0] << results[1];
}

TEST(RetainedGradients, OfACapturedTensorAreRefusedAndStayWhenItIsWritten) {
  auto x = leaf();
  auto y = x * 2;
  y.retain_grad();
  auto f = compile([&](const Tensor& z) {
    y.mul_(z);
    return (y * z).sum();
  });
  const auto z = torch::full({3}, 3.0F);
  expect_error(ErrorCode::NeedsGrad, "run", "retains its gradient, and is written while autograd records",
               {x, y, z}, [&] { f(z); });
  EXPECT_TRUE(y.retains_grad());
  y.mul_(2);  // LibTorch moves the hook to the new history
  y.sum().backward();
  EXPECT_TRUE(y.grad().equal(torch::ones({3})));
  EXPECT_TRUE(x.grad().equal(torch::full({3}, 4.0F)));
}

TEST(RetainedGradients, OfAnArgumentThatIsWrittenAreRefused) {
  auto y = leaf() * 2;
  y.retain_grad();
  auto f = compile([](const Tensor& y) { return y.mul_(2).sin(); });
  expect_error(ErrorCode::NeedsGrad, "run",
               "input 0 retains its gradient, and is written while autograd records", {y}, [&] { f(y); });
  const torch::NoGradGuard no_grad;
  EXPECT_TRUE(f(y).allclose(torch::full({3}, 4.0F).sin()));
}

/// Calls the function eagerly and compiled, twice; compares .grad of results, arguments and leaves.
void expect_retained_as_eager(const std::function<Tensors(const Tensor&)>& function, bool of_result) {
  auto compiled = compile(function);
  for (int call = 0; call < 2; ++call) {
    std::vector<Tensors> gradients;
    for (const bool eager : {true, false}) {
      auto x = leaf();
      auto y = x * (2 + call);
      const auto results = eager ? function(y) : compiled(y);
      EXPECT_TRUE((of_result ? results[0] : y).retains_grad()) << eager;
      Tensor sum = y.cos().sum();
      for (const auto& result : results) sum = sum + result.square().sum();
      sum.backward();
      gradients.push_back({x.grad(), of_result ? results[0].grad() : y.grad()});
    }
    for (size_t i = 0; i < 2; ++i) {
      ASSERT_TRUE(gradients[1][i].defined()) << i;
      EXPECT_TRUE(gradients[0][i].allclose(gradients[1][i])) << gradients[0][i] << gradients[1][i];
    }
  }
  EXPECT_EQ(compiled.report().captures, 1U);
}

TEST(RetainedGradients, CalledInsideOnAResult) {
  expect_retained_as_eager(
      [](const Tensor& x) -> Tensors {
        auto y = x.sin() * 2;
        y.retain_grad();
        return {y, x.exp()};
      },
      true);
  expect_retained_as_eager(
      [](const Tensor& x) -> Tensors {
        auto y = x.sin();
        y.retain_grad();
        y.mul_(3);
        return {y};
      },
      true);
  expect_retained_as_eager(  // a view
      [](const Tensor& x) -> Tensors {
        auto y = x.sin();
        auto part = y.slice(0, 1);
        part.retain_grad();
        return {part, y};
      },
      true);
}

/// The backward pass is recorded several times, to find out what throws.
TEST(RetainedGradients, CalledInsideWhereAnotherResultHasNone) {
  const auto body = [](const Tensor& x) {
    auto y = torch::mse_loss(x, x.detach() * 2);
    auto z = x.exp();
    y.retain_grad();
    z.div_(z.clone());
    auto inner = x.sin();
    inner.retain_grad();
    return std::tuple(z, y, inner * 2);
  };
  auto compiled = compile(body);
  for (const bool eager : {true, false}) {
    auto x = leaf();
    auto [z, y, w] = eager ? body(x) : compiled(x);
    EXPECT_THROW(z.sum().backward(), c10::Error);
    (y + w.sum()).backward();
    EXPECT_TRUE(y.grad().equal(torch::ones({})));
    EXPECT_TRUE(x.grad().allclose(torch::full({3}, -2.0F / 3) + x.detach().cos() * 2));
  }
}

TEST(RetainedGradients, CalledInsideOnAnArgument) {
  expect_retained_as_eager(
      [](const Tensor& y) -> Tensors {
        y.retain_grad();
        return {y * 3, y.exp()};
      },
      false);
  expect_retained_as_eager(
      [](const Tensor& y) -> Tensors {
        y.retain_grad();
        return {y};
      },
      false);
}

TEST(RetainedGradients, CalledInsideWhereTheyWouldBeIncomplete) {
  auto x = leaf();
  auto used = compile([](const Tensor& x) {
    auto y = x * 2;
    y.retain_grad();
    return std::pair(y, y.exp());
  });
  expect_error(ErrorCode::UnsupportedOp, "capture:retain_grad",
               "the function calls retain_grad() on output 0, and computes other results from it", {x},
               [&] { used(x); });
  auto written = compile([](const Tensor& y) {
    y.retain_grad();
    return y.mul_(3);
  });
  auto y = x * 2;
  expect_error(ErrorCode::UnsupportedOp, "capture:retain_grad",
               "the function calls retain_grad() on an argument that it writes to", {y}, [&] { written(y); });
}

}  // namespace
