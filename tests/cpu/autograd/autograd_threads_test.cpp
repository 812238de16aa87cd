// Compiled functions in many threads, and nested in each other.
#include <thread>

#include "support/training_like_eager.h"

namespace antegrad::test {
namespace {

using at::Tensor;

constexpr int kThreads = 6;

template <class Work>
void in_threads(const Work& work) {
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back([&work, t] { work(t); });
  for (auto& thread : threads) thread.join();
}

auto square() {
  return [](const Tensor& a) { return (a * a).sum(); };
}

TEST(Threads, ForwardAndBackwardInEach) {
  auto compiled = compile(square());
  std::vector<Tensor> leaves(kThreads);
  in_threads([&](int t) {
    auto a = torch::full({8}, static_cast<float>(t)).requires_grad_();
    for (int step = 0; step < 20; ++step) compiled(a).backward();
    leaves[static_cast<size_t>(t)] = a;
  });
  for (int t = 0; t < kThreads; ++t)
    EXPECT_TRUE(leaves[static_cast<size_t>(t)].grad().equal(torch::full({8}, 40.0F * static_cast<float>(t))));
  EXPECT_EQ(compiled.report().captures, 1U);
}

TEST(Threads, OneGraphRunBackwardByAll) {
  auto a = torch::ones({8}).requires_grad_();
  auto out = compile(square())(a);
  std::vector<Tensor> gradients(kThreads);
  in_threads([&](int t) {
    gradients[static_cast<size_t>(t)] = torch::autograd::grad({out}, {a}, {}, /*retain_graph=*/true)[0];
  });
  for (const auto& gradient : gradients) EXPECT_TRUE(gradient.equal(torch::full({8}, 2.0F)));
}

TEST(Threads, ForwardHereAndBackwardThere) {
  auto compiled = compile([](const Tensor& a) { return at::dropout(a.sin(), 0.5, true).sum(); });
  std::vector<std::pair<Tensor, Tensor>> calls;
  for (int t = 0; t < kThreads; ++t) {
    auto a = torch::randn({8}).requires_grad_();
    calls.emplace_back(a, compiled(a));
  }
  in_threads([&](int t) { calls[static_cast<size_t>(t)].second.backward(); });
  for (const auto& [a, out] : calls) {
    const auto scale = a.grad() / a.detach().cos();
    EXPECT_TRUE(((scale.abs() < 1e-5) | ((scale - 2).abs() < 1e-4)).all().item<bool>()) << scale;
  }
}

TEST(Threads, SecondDerivativesInEach) {
  auto compiled = compile([](const Tensor& a) { return a.pow(3).sum(); });
  std::vector<Tensor> seconds(kThreads);
  in_threads([&](int t) {
    auto a = torch::full({4}, 2.0F).requires_grad_();
    auto first = torch::autograd::grad({compiled(a)}, {a}, {}, true, /*create_graph=*/true)[0];
    seconds[static_cast<size_t>(t)] = torch::autograd::grad({first.sum()}, {a})[0];
  });
  for (const auto& second : seconds) EXPECT_TRUE(second.allclose(torch::full({4}, 12.0F)));
}

TEST(Threads, SharedParametersAccumulate) {
  auto w = torch::ones({4}).requires_grad_();
  auto compiled = compile([&](const Tensor& x) { return (x * w).sum(); });
  in_threads([&](int) {
    for (int step = 0; step < 10; ++step) compiled(torch::ones({4})).backward();
  });
  EXPECT_TRUE(w.grad().equal(torch::full({4}, 10.0F * kThreads))) << w.grad();
}

TEST(Threads, BackwardOfOneWhileAnotherCaptures) {
  in_threads([&](int t) {
    auto compiled = compile([t](const Tensor& a) { return (a * t).sin().sum(); });
    auto a = torch::ones({4}).requires_grad_();
    for (int step = 0; step < 5; ++step) compiled(a).backward();
    EXPECT_TRUE(a.grad().allclose(torch::full({4}, 5.0 * t * std::cos(t), at::kFloat), 1e-4, 1e-5)) << t;
  });
}

// --- nesting

TEST(Nested, InnerIsInlined) {
  auto inner = compile([](const Tensor& a) { return a.sin(); });
  auto outer = compile([inner](const Tensor& a) { return inner(a) * inner(a * 2); });
  auto a = leaf({3});
  auto b = a.detach().clone().requires_grad_();
  outer(a).sum().backward();
  (b.sin() * (b * 2).sin()).sum().backward();
  EXPECT_TRUE(a.grad().allclose(b.grad(), 1e-4, 1e-5));
  EXPECT_EQ(inner.report().captures, 0U);
  EXPECT_EQ(outer(a).grad_fn()->name(), "AntegradBackward");
}

TEST(Nested, ResultsOfOneArgumentsOfTheNext) {
  auto first = compile([](const Tensor& a) { return a.sin(); });
  auto second = compile([](const Tensor& a) { return a * a; });
  auto a = leaf({3});
  auto b = a.detach().clone().requires_grad_();
  second(first(second(a))).sum().backward();
  (b * b).sin().pow(2).sum().backward();
  EXPECT_TRUE(a.grad().allclose(b.grad(), 1e-4, 1e-5));
}

TEST(Nested, SecondDerivativesThroughBoth) {
  auto first = compile([](const Tensor& a) { return a.sin(); });
  auto second = compile([](const Tensor& a) { return a.exp(); });
  auto run = [&](auto& f, auto& g) {
    auto a = torch::linspace(0, 1, 4).requires_grad_();
    auto gradient = torch::autograd::grad({g(f(a)).sum()}, {a}, {}, true, /*create_graph=*/true)[0];
    return torch::autograd::grad({gradient.pow(2).sum()}, {a})[0];
  };
  auto sin = [](const Tensor& a) { return a.sin(); };
  auto exp = [](const Tensor& a) { return a.exp(); };
  EXPECT_TRUE(run(first, second).allclose(run(sin, exp), 1e-4, 1e-5));
}

TEST(Nested, CompiledInsideACustomFunction) {
  static const auto inner = compile([](const Tensor& a) { return a.sin(); });
  struct Wraps : torch::autograd::Function<Wraps> {
    static Tensor forward(torch::autograd::AutogradContext* ctx, const Tensor& x) {
      ctx->save_for_backward({x});
      return inner(x);
    }
    static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                   const torch::autograd::variable_list& grads) {
      return {grads[0] * inner(ctx->get_saved_variables()[0])};
    }
  };
  auto a = leaf({3});
  Wraps::apply(a).sum().backward();
  EXPECT_TRUE(a.grad().allclose(a.detach().sin()));
}

TEST(Nested, BackwardInsideAHook) {
  auto compiled = compile(square());
  auto other = leaf({3});
  auto a = leaf({3});
  auto out = compiled(a);
  out.register_hook([&](const Tensor&) {
    at::AutoGradMode enable(true);
    compiled(other).backward();
  });
  out.backward();
  EXPECT_TRUE(a.grad().equal(2 * a.detach()));
  EXPECT_TRUE(other.grad().equal(2 * other.detach()));
}

}  // namespace
}  // namespace antegrad::test
