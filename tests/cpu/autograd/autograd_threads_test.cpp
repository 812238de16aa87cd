// Compiled functions in many threads, with regions, effects and training steps, and nested in each other.
#include <antegrad/control.h>
#include <antegrad/effects.h>
#include <antegrad/optim.h>

#include <atomic>
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

Tensor with_regions(const Tensor& x) {
  const auto branch = cond(
      x.sum() > 0, [](const Tensor& v) { return v.sin(); }, [](const Tensor& v) { return v.cos(); }, x);
  const auto [last, all] = scan(
      [](const Tensor& carry, const Tensor& row) {
        const auto next = (carry * row).tanh();
        return std::pair(next, next.exp());
      },
      branch[0], branch);
  const auto kept = checkpoint([](const Tensor& v) { return v.sigmoid() * v; }, all);
  return kept.sum() + last.sum();
}

/// The numbers 1 to 12, scaled, so that threads and calls have different ones.
Tensor some_input(int thread, int call) {
  const auto numbers = torch::arange(1, 13, torch::kDouble).view({3, 4});
  return (numbers * (call % 2 == 0 ? 0.03 : -0.03) * (thread + 1)).set_requires_grad(true);
}

TEST(Threads, Regions) {
  const auto compiled = compile(with_regions);
  std::atomic<int> wrong{0};
  in_threads([&](int t) {
    for (int call = 0; call < 6; ++call) {
      const auto a = some_input(t, call);
      const auto b = some_input(t, call);
      const auto eager = with_regions(a);
      const auto result = compiled(b);
      const auto of_eager = torch::autograd::grad({eager}, {a})[0];
      const auto gradient = torch::autograd::grad({result}, {b})[0];
      if (!torch::allclose(eager, result, 1e-10) || !torch::allclose(of_eager, gradient, 1e-10)) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(compiled.report().captures, 1u);
}

TEST(Threads, Effects) {
  static std::atomic<int> lines, calls, seen;  // callbacks are copied, and compared by their bytes
  lines = calls = seen = 0;
  set_print([](std::string_view) { ++lines; });
  const auto compiled = compile([](const Tensor& x) {
    check(x.abs().max() < 100, "too large");
    print("a row: {}", x[0]);
    callback([](const Tensor&) { ++calls; }, x);
    return gradient_callback([](const Tensor&) { ++seen; }, x.sin()).sum();
  });
  std::atomic<int> refused{0};
  in_threads([&](int t) {
    for (int call = 0; call < 5; ++call) {
      compiled(some_input(t, call)).backward();
      try {
        compiled(torch::full({3, 4}, 200.0, torch::kDouble).set_requires_grad(true));
      } catch (const c10::Error&) {
        ++refused;
      }
    }
  });
  set_print(nullptr);
  EXPECT_EQ(refused, 5 * kThreads);
  EXPECT_EQ(lines, 5 * kThreads);
  EXPECT_EQ(calls, 5 * kThreads);
  EXPECT_EQ(seen, 5 * kThreads);
}

/// Trains a net of its own for some steps, each by `step(loss, optimizer, x)`. Returns its parameters.
template <class Step>
std::vector<Tensor> train(const Step& step) {
  torch::nn::Linear first(4, 5), second(5, 1);
  first->to(torch::kDouble), second->to(torch::kDouble);
  auto parameters = first->parameters();
  for (const auto& parameter : second->parameters()) parameters.push_back(parameter);
  {
    torch::NoGradGuard no_grad;
    for (auto& parameter : parameters)
      parameter.copy_(torch::linspace(-1, 1, parameter.numel(), torch::kDouble).view(parameter.sizes()));
  }
  torch::optim::AdamW optimizer(parameters, torch::optim::AdamWOptions(0.05));
  step([=](const Tensor& x) mutable { return second(torch::tanh(first(x))).square().mean(); }, optimizer);
  return parameters;
}

TEST(Threads, TrainingStepsOfTheirOwn) {
  constexpr int kSteps = 5;
  std::atomic<int> wrong{0};
  in_threads([&](int t) {
    const auto eager = train([&](auto loss, auto& optimizer) {
      for (int k = 0; k < kSteps; ++k) {
        optimizer.zero_grad();
        loss(some_input(t, k).detach()).backward();
        optimizer.step();
      }
    });
    const auto compiled = train([&](auto loss, auto& optimizer) {
      StepOptions options;
      options.clip_norm = 1e6;
      const auto step = training_step(loss, optimizer, options);
      for (int k = 0; k < kSteps; ++k) step(some_input(t, k).detach());
    });
    for (size_t k = 0; k < eager.size(); ++k)
      if (!torch::allclose(eager[k], compiled[k], 1e-9, 1e-12)) ++wrong;
  });
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace antegrad::test
