// Inputs that share memory, one of them written, with gradients: autograd sees them as views of one tensor.
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "support/seeds.h"

namespace {

using at::Tensor;
using Tensors = std::vector<Tensor>;
using Fn = std::function<Tensor(const Tensor&, const Tensor&)>;
/// Makes the two arguments as views of a tensor that is not a leaf.
using Views = std::function<std::pair<Tensor, Tensor>(const Tensor&)>;

/// Returns the leaf's gradient, the result, both arguments after the call, and the version of their base.
Tensors run(const Fn& f, const Views& views) {
  antegrad::test::manual_seed(3);
  auto leaf = torch::randn({2, 3}, torch::dtype(torch::kFloat64).requires_grad(true));
  auto base = leaf * 2;
  auto [a, b] = views(base);
  auto result = f(a, b);
  (result.sum() + (a * a).sum() + (b * 3).sum() + base.sum()).backward();
  return {leaf.grad(), result.detach(), a.detach(), b.detach(), torch::tensor(base._version())};
}

void expect_like_eager(const Fn& f, const Views& views) {
  auto compiled = antegrad::compile([f](const Tensor& a, const Tensor& b) { return f(a, b); });
  const auto expected = run(f, views);
  for (int call = 0; call < 2; ++call) {
    const auto actual = run([&](const Tensor& a, const Tensor& b) { return compiled(a, b); }, views);
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_TRUE(torch::allclose(actual[i], expected[i], 1e-12, 1e-12)) << "tensor " << i << "\n"
                                                                         << actual[i] << "\n"
                                                                         << expected[i];
  }
  EXPECT_EQ(compiled.report().captures, 1U);
}

// ALI-35
TEST(SharedInputs, OneIsTheBaseOfTheOther) {
  const Views views = [](const Tensor& base) { return std::pair(base, base[0]); };
  expect_like_eager([](const Tensor& a, const Tensor& b) { return b.mul_(2) * a[0]; }, views);
  expect_like_eager([](const Tensor& a, const Tensor& b) { return a.mul_(2)[0] + b; }, views);
}

// ALI-35
TEST(SharedInputs, TwoViewsOfOneTensorThatIsNotPassed) {
  const Views views = [](const Tensor& base) { return std::pair(base.t(), base.slice(1, 0, 2)); };
  expect_like_eager([](const Tensor& a, const Tensor& b) { return b.mul_(3).sum() * a.sum(); }, views);
}

/// Eager throws when such a view is asked for its history, not before.
TEST(SharedInputs, APartOfASplitWhoseWholeIsWritten) {
  const Fn function = [](const Tensor& whole, const Tensor& part) {
    const auto y = part * 3 + 20;
    whole.div_(y);
    return y.exp();
  };
  const auto run_once = [](const Fn& f) {
    antegrad::test::manual_seed(3);
    const auto leaf = torch::randn({2, 3}).requires_grad_();
    const auto whole = leaf * 2;
    const auto part = whole.split(1)[0];
    const auto result = f(whole, part);
    (result.sum() + (whole * whole).sum()).backward();
    EXPECT_THROW(part.grad_fn(), c10::Error);
    return Tensors{leaf.grad(), result.detach(), whole.detach()};
  };
  auto compiled = antegrad::compile([&](const Tensor& a, const Tensor& b) { return function(a, b); });
  const auto expected = run_once(function);
  const auto actual = run_once([&](const Tensor& a, const Tensor& b) { return compiled(a, b); });
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(torch::allclose(actual[i], expected[i])) << i;
}

// ALI-36
TEST(SharedInputs, AViewOfTheOtherIsReturned) {
  const Views views = [](const Tensor& base) { return std::pair(base.view({-1}), base[1]); };
  expect_like_eager(
      [](const Tensor& a, const Tensor& b) {
        b.add_(1);
        return a.view({3, 2});
      },
      views);
}

TEST(SharedInputs, AnotherArrangementIsCapturedAnew) {
  auto compiled = antegrad::compile([](const Tensor& a, const Tensor& b) { return a.mul_(2)[0] + b; });
  auto base = torch::randn({2, 3}, torch::requires_grad()) * 1;
  compiled(base, base[0]);
  EXPECT_EQ(compiled.report().captures, 1U);
  auto again = torch::randn({2, 3}, torch::requires_grad()) * 1;
  compiled(again, again[0]);
  EXPECT_EQ(compiled.report().captures, 1U);
  compiled(again, again[1]);
  EXPECT_EQ(compiled.report().captures, 2U);
}

// ERR-03: they share memory, but are not views to autograd.
TEST(SharedInputs, ThatAreNoViewsOfEachOtherAreRefused) {
  auto compiled = antegrad::compile([](const Tensor& a, const Tensor& b) { return a.mul_(2) + b; });
  auto a = torch::randn({3}, torch::requires_grad()) * 1;
  auto b = a.detach().requires_grad_();
  try {
    compiled(a, b);
    FAIL() << "no error";
  } catch (const antegrad::Error& error) {
    EXPECT_EQ(error.code(), antegrad::ErrorCode::NeedsGrad);
    EXPECT_NE(std::string(error.what()).find("shares memory with another input that is written"),
              std::string::npos);
  }
}

// The part has no element of the leaf, but shares its version.
TEST(SharedInputs, SecondDerivativesByALeafBesideAWrittenPart) {
  const auto program = [](const Tensor& a, const Tensor& part) {
    part.mul_(3);
    return a.sigmoid();
  };
  const auto compiled = antegrad::compile(program);
  const auto second = [](const Fn& f) {
    auto leaf = torch::linspace(-1, 1, 6, torch::kFloat64).slice(0, 0, 6, 2).detach().requires_grad_();
    const auto part = leaf.as_strided({1}, {1}, 3).detach();
    const auto gradient = torch::autograd::grad({f(leaf, part).sum()}, {leaf}, {}, true, true)[0];
    return torch::autograd::grad({gradient.sum()}, {leaf})[0];
  };
  const auto expected = second(program);
  for (int call = 0; call < 2; ++call)
    EXPECT_TRUE(
        torch::allclose(second([&](const Tensor& a, const Tensor& b) { return compiled(a, b); }), expected));
}

}  // namespace
