// Compiled functions with kernels: eager's errors, donated memory, many threads.
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <thread>

#include "runtime/memory_pool.h"

namespace antegrad::test {
namespace {

using at::Tensor;

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

template <class F>
std::string error_of(const F& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return first_line(error.what());
  }
  return "";
}

TEST(Functions, IndicesOutOfRangeGiveTheErrorOfEager) {
  const auto look_up = [](const Tensor& table, const Tensor& index) {
    return (at::embedding(table, index) * 2).exp() + 1;
  };
  auto compiled = compile(look_up);
  const auto table = torch::randn({10, 16}, torch::requires_grad());
  const auto good = torch::tensor({0, 9, 4});
  EXPECT_TRUE(at::allclose(compiled(table, good), look_up(table, good)));
  for (const auto& bad : {torch::tensor({0, 10, 4}), torch::tensor({0, -11, 4})}) {
    const auto expected = error_of([&] { look_up(table, bad); });
    ASSERT_FALSE(expected.empty());
    EXPECT_EQ(error_of([&] { compiled(table, bad); }), expected);
  }
  EXPECT_TRUE(at::allclose(compiled(table, good), look_up(table, good)));
}

TEST(Functions, NegativeIndicesCountFromTheEnd) {
  const auto pick = [](const Tensor& x, const Tensor& index) { return at::index(x, {index}).sin() * 3; };
  auto compiled = compile(pick);
  const auto x = torch::randn({10, 16}, torch::requires_grad());
  const auto index = torch::tensor({-1, 3, -10});
  EXPECT_TRUE(at::allclose(compiled(x, index), pick(x, index)));
  const auto bad = torch::tensor({-11, 3, 9});
  EXPECT_EQ(error_of([&] { compiled(x, bad); }), error_of([&] { pick(x, bad); }));
}

/// The backward pass may overwrite what only it holds, and nothing else.
TEST(Functions, BackwardLeavesWhatOthersHold) {
  const auto function = [](const Tensor& x) { return (x.sin() * x).exp(); };
  auto compiled = compile(function);
  const auto x = torch::randn({1000}, torch::requires_grad());
  const auto expected = torch::autograd::grad({function(x)}, {x}, {torch::ones({1000})})[0];
  const auto y = compiled(x);
  const auto kept = y.detach().clone();
  const auto tangent = torch::ones({1000});
  const auto first = torch::autograd::grad({y}, {x}, {tangent}, /*retain_graph=*/true)[0];
  EXPECT_TRUE(at::allclose(first, expected, 1e-4, 1e-4));  // some are differences of large numbers
  EXPECT_TRUE(at::equal(tangent, torch::ones({1000})));
  const auto second = torch::autograd::grad({y}, {x}, {tangent})[0];
  EXPECT_TRUE(at::equal(first, second));
  EXPECT_TRUE(at::equal(tangent, torch::ones({1000})));
  EXPECT_TRUE(at::equal(y, kept));
}

Tensor large_loss(const Tensor& x, const Tensor& w) {
  const auto h = at::mm(x, w).tanh();
  return (at::mm(h, w).sigmoid() * x).pow(2).mean();
}

TEST(Functions, StepsOfTrainingReuseMemory) {
  auto compiled = compile(large_loss);
  const auto x = torch::randn({512, 512});
  auto w = torch::randn({512, 512}, torch::requires_grad());
  auto step = [&] {
    w.mutable_grad().reset();
    compiled(x, w).backward();
  };
  for (int i = 0; i < 3; ++i) step();
  const auto before = runtime::memory_pool::statistics();
  for (int i = 0; i < 3; ++i) step();
  const auto after = runtime::memory_pool::statistics();
  EXPECT_EQ(after.fresh, before.fresh);
  EXPECT_GT(after.reused, before.reused);
  EXPECT_TRUE(at::allclose(w.grad(), torch::autograd::grad({large_loss(x, w)}, {w})[0], 1e-4, 1e-7));
}

TEST(Functions, ManyThreadsRunOneExecutable) {
  auto compiled = compile(large_loss);
  const auto x = torch::randn({64, 64});
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const auto w = (torch::eye(64) * (t + 1)).set_requires_grad(true);
      const auto expected = torch::autograd::grad({large_loss(x, w)}, {w})[0];
      for (int i = 0; i < 50; ++i) {
        const auto gradient = torch::autograd::grad({compiled(x, w)}, {w})[0];
        if (!at::allclose(gradient, expected, 1e-4, 1e-6)) ++wrong;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(compiled.report().captures, 1U);
}

TEST(Functions, ConjugatedTensorsAreNotReadByKernels) {
  const auto function = [](const Tensor& x) { return at::imag(x).sin() + 1; };
  auto compiled = compile(function);
  const auto z = torch::randn({8}, torch::kComplexFloat);
  EXPECT_TRUE(at::allclose(compiled(z.conj()), function(z.conj())));
  EXPECT_TRUE(at::allclose(compiled(z), function(z)));
}

}  // namespace
}  // namespace antegrad::test
