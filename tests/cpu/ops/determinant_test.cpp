// Derivatives of linalg_det up to the third: eager chooses a formula for each matrix by its data.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "antegrad/antegrad.h"
#include "support/seeds.h"

namespace {

using at::Tensor;

/// Regular matrices, the identity, an orthogonal matrix (all singular values equal), and singular ones.
Tensor matrices() {
  antegrad::test::manual_seed(3);
  auto all = torch::randn({6, 3, 3}, torch::kFloat64);
  all[2] = torch::eye(3, torch::kFloat64);
  all[3] = std::get<0>(at::linalg_qr(all[3]));
  all[4][1] = all[4][0] * 2;
  all[5][2].zero_();
  return all;
}

/// Returns the derivative of that order of the sum of determinants; each derivative is squared and summed
/// before the next.
Tensor derivative(const Tensor& a, int order) {
  auto value = at::linalg_det(a).sum();
  for (int i = 1; i < order; ++i) value = torch::autograd::grad({value}, {a}, {}, true, true)[0].pow(2).sum();
  return value;
}

TEST(Determinant, DerivativesInsideTheFunction) {
  for (int order = 1; order <= 3; ++order) {
    auto eager = matrices().requires_grad_(), a = matrices().requires_grad_();
    const auto f = [order](const Tensor& a) { return derivative(a, order); };
    f(eager).backward();
    auto value = antegrad::compile(f)(a);
    EXPECT_TRUE(torch::allclose(value, f(eager))) << order;
    value.backward();
    EXPECT_TRUE(torch::allclose(a.grad(), eager.grad(), 1e-8, 1e-10)) << order << "\n"
                                                                      << a.grad() << "\n"
                                                                      << eager.grad();
  }
}

TEST(Determinant, DerivativesOfTheCompiledFunction) {
  auto det = antegrad::compile([](const Tensor& a) { return at::linalg_det(a); });
  for (int order = 2; order <= 3; ++order) {
    auto eager = matrices().requires_grad_(), a = matrices().requires_grad_();
    derivative(eager, order).backward();
    auto value = det(a).sum();
    for (int i = 1; i < order; ++i)
      value = torch::autograd::grad({value}, {a}, {}, true, true)[0].pow(2).sum();
    value.backward();
    EXPECT_TRUE(torch::allclose(a.grad(), eager.grad(), 1e-8, 1e-10)) << order;
  }
}

TEST(Determinant, TheGradientThatIsGivenMayBeMadeBefore) {
  auto f = [](const Tensor& a) {
    const auto one = torch::ones({6}, torch::kFloat64);
    const auto first = torch::autograd::grad({at::linalg_det(a)}, {a}, {one}, true, true)[0];
    const auto second = torch::autograd::grad({first.pow(2).sum()}, {a}, {}, true, true)[0];
    return second.pow(2).sum();
  };
  auto eager = matrices().requires_grad_(), a = matrices().requires_grad_();
  f(eager).backward();
  antegrad::compile(f)(a).backward();
  EXPECT_TRUE(torch::allclose(a.grad(), eager.grad(), 1e-8, 1e-10));
}

TEST(Determinant, OfOneByOneAndOfNoMatrices) {
  for (auto sizes : {std::vector<int64_t>{2, 1, 1}, {0, 3, 3}, {2, 0, 0}}) {
    const auto f = [](const Tensor& a) {
      return torch::autograd::grad({at::linalg_det(a).pow(2).sum()}, {a}, {}, true, true)[0].pow(2).sum();
    };
    const auto gradient_of = [&](const auto& f) {
      auto a = torch::full(sizes, 3.0, torch::kFloat64).requires_grad_();
      try {
        f(a).backward();
      } catch (const c10::Error&) {  // in eager too: the determinant of an empty matrix depends on nothing
      }
      return a.grad();
    };
    const auto eager = gradient_of(f), compiled = gradient_of(antegrad::compile(f));
    ASSERT_EQ(eager.defined(), compiled.defined()) << sizes;
    if (eager.defined()) EXPECT_TRUE(torch::allclose(eager, compiled)) << sizes;
  }
}

}  // namespace
