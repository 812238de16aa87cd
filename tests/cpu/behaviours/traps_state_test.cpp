// Generators, statistics, gradients and captured tensors that are replaced or freed: a compiled call must
// leave them as eager does.
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <functional>

#include "support/same_as_eager.h"
#include "support/seeds.h"

namespace antegrad::test {
namespace {

using at::Tensor;

/// Returns the results of several calls from the same seed, and the generator's state at the end.
std::vector<Tensor> stream(const std::function<Tensor(const Tensor&)>& f) {
  test::manual_seed(7);
  std::vector<Tensor> out;
  for (int call = 0; call < 4; ++call) out.push_back(f(torch::full({5, 3}, call + 1.0)).clone());
  out.push_back(torch::rand({3}));
  out.push_back(at::detail::getDefaultCPUGenerator().get_state());
  return out;
}

template <class F>
void expect_same_stream(const F& f) {
  Options options;
  options.rng = Rng::Eager;
  auto compiled = compile(f, options);
  EXPECT_TRUE(same(stream(f), stream([&](const Tensor& x) { return compiled(x); })));
  EXPECT_EQ(compiled.report().captures, 1u);
}

TEST(Generator, SameStreamAsEager) {
  torch::NoGradGuard no_grad;
  expect_same_stream([](const Tensor& x) { return torch::dropout(x, 0.5, true); });
  expect_same_stream([](const Tensor& x) { return x + torch::rand({5, 3}) + torch::rand_like(x); });
  expect_same_stream([](const Tensor& x) { return x + torch::randn({5, 3}) * torch::randn({5, 3}); });
  expect_same_stream(
      [](const Tensor& x) { return torch::empty_like(x).bernoulli_(0.3) + x.clone().normal_(1, 2); });
  expect_same_stream([](const Tensor& x) {
    return torch::bernoulli(x / 10) + torch::normal(0.0, 1.0, {5, 3});
  });
  expect_same_stream([](const Tensor& x) { return x + torch::randint(0, 10, {5, 3}) + torch::randperm(3); });
  expect_same_stream(
      [](const Tensor& x) { return x.clone().uniform_(-1, 1) + torch::empty({3}).exponential_(); });
  expect_same_stream([](const Tensor& x) { return torch::multinomial(x, 2, true).to(at::kFloat); });
  expect_same_stream([](const Tensor& x) {
    return torch::rrelu(-x, 0.1, 0.3, true) + torch::feature_dropout(x, 0.5, true);
  });
  expect_same_stream(
      [](const Tensor& x) { return torch::poisson(x) + x.clone().geometric_(0.5) + x.clone().cauchy_(); });
}

TEST(Generator, UnusedDrawsAreStillDrawn) {
  expect_same_stream([](const Tensor& x) {
    torch::rand({7});
    return x * 2;
  });
}

TEST(Generator, CapturingDrawsNothing) {
  auto compiled = compile([](const Tensor& x) -> Tensor {
    auto y = torch::dropout(x, 0.5, true) + torch::multinomial(x, 2).sum() + torch::randperm(3)[0];
    throw std::logic_error("after the draws");
  });
  test::manual_seed(3);
  auto before = at::detail::getDefaultCPUGenerator().get_state();
  EXPECT_THROW(compiled(torch::ones({4, 3})), std::logic_error);
  EXPECT_TRUE(before.equal(at::detail::getDefaultCPUGenerator().get_state()));
}

TEST(Statistics, BatchNormInTraining) {  // ALI-12, ALI-13
  torch::nn::BatchNorm2d eager_norm(3), norm(3);
  torch::NoGradGuard no_grad;
  auto compiled = compile(norm);
  auto state = [](const torch::nn::BatchNorm2d& module) {
    return std::vector<Tensor>{module->running_mean, module->running_var, module->num_batches_tracked,
                               module->weight};
  };
  for (int call = 0; call < 4; ++call) {
    auto x = torch::randn({2, 3, 4, 4});
    EXPECT_TRUE(same(eager_norm->forward(x), compiled(x)));
    EXPECT_TRUE(same_state(state(eager_norm), state(norm)));
  }
  EXPECT_EQ(norm->num_batches_tracked.item<int64_t>(), 4);
  EXPECT_EQ(compiled.report().captures, 1u);
}

TEST(Gradients, BackwardInsideIntoAnExistingGrad) {
  auto run = [](bool compile_it) {
    auto w = torch::ones({2}).requires_grad_();
    w.mutable_grad() = torch::full({2}, 5.0);
    const auto grad = w.grad();
    w.register_hook([](Tensor g) { return g * 2; });
    auto f = [&](const Tensor& x) {
      torch::AutoGradMode enabled(true);
      (x * w * w).sum().backward();
      return w.grad() * 2;
    };
    auto compiled = compile(f);
    std::vector<Tensor> out;
    torch::NoGradGuard no_grad;
    for (int call = 0; call < 3; ++call) {
      auto x = torch::tensor({2.0f, 3.0f}) + call;
      out.push_back(compile_it ? compiled(x) : f(x));
      EXPECT_TRUE(w.grad().is_same(grad));
      out.push_back(grad.clone());
      out.push_back(torch::tensor({grad._version(), w._version(), int64_t{w.is_leaf()}}));
    }
    return out;
  };
  EXPECT_TRUE(same(run(false), run(true)));
}

TEST(Gradients, BackwardInsideThatMakesGradIsAnError) {
  auto w = torch::ones({2}).requires_grad_();
  auto compiled = compile([&](const Tensor& x) {
    torch::AutoGradMode enabled(true);
    (x * w).sum().backward();
    return x * 2;
  });
  torch::NoGradGuard no_grad;
  EXPECT_EQ(code_thrown_by([&] { compiled(torch::ones({2})); }), ErrorCode::UnsupportedOp);
  EXPECT_FALSE(w.grad().defined());
  EXPECT_TRUE(w.is_leaf());
  EXPECT_EQ(w._version(), 0);
}

TEST(Gradients, GradInside) {  // CAP-25
  auto w = torch::ones({2}).requires_grad_();
  auto compiled = compile([&](const Tensor& t) {
    torch::AutoGradMode enabled(true);
    return torch::autograd::grad({(t * w * w).sum()}, {w})[0].detach();
  });
  torch::NoGradGuard no_grad;
  for (int call = 0; call < 2; ++call) {
    auto x = torch::randn({2});
    EXPECT_TRUE(same(2 * x, compiled(x)));
  }
  EXPECT_FALSE(w.grad().defined());
  EXPECT_TRUE(w.is_leaf());
  EXPECT_EQ(compiled.report().captures, 1u);
}

TEST(Gradients, ReadingGradOfACapturedLeaf) {
  auto w = torch::ones({2}).requires_grad_();
  w.mutable_grad() = torch::full({2}, 5.0);
  auto compiled = compile([&](const Tensor& x) {
    torch::NoGradGuard no_grad;
    w.sub_(w.grad() * x);
    w.mutable_grad().zero_();
    return w.sum();
  });
  auto x = torch::full({2}, 0.1);
  compiled(x);
  EXPECT_TRUE(w.detach().equal(1 - torch::full({2}, 5.0) * 0.1));
  EXPECT_TRUE(w.grad().equal(torch::zeros({2})));
  w.grad().fill_(1);  // a step with another gradient
  auto before = w.detach().clone();
  compiled(x);
  EXPECT_TRUE(w.detach().equal(before - torch::ones({2}) * 0.1));
  EXPECT_EQ(compiled.report().captures, 1u);
}

TEST(CapturedTensors, ReplacedBetweenCalls) {
  auto w = torch::ones({2});
  auto x = torch::ones({2});
  auto compiled = compile([&](const Tensor& t) { return t + w; });
  compiled(x);
  w = torch::full({2}, 5.0);  // the old tensor is freed, so the new one must be meant
  EXPECT_TRUE(same(x + 5, compiled(x)));
  EXPECT_EQ(compiled.report().captures, 2u);
  auto kept = w;
  w = torch::full({2}, 7.0);
  // The old tensor is still alive, so no guard can detect the replacement: the pitfall that
  // Options::check_recapture finds.
  EXPECT_TRUE(same(x + 5, compiled(x)));
  Options options;
  options.check_recapture = true;
  options.name = "exchange";
  auto checked = compile([&](const Tensor& t) { return t + w; }, options);
  EXPECT_TRUE(same(x + 7, checked(x)));
  w = torch::full({1}, 9.0).expand({2});
  EXPECT_TRUE(same(x + 9, checked(x)));  // the old tensor was freed
}

TEST(CapturedTensors, ResizedAndFreedBetweenCalls) {
  auto w = std::make_unique<Tensor>(torch::ones({2}));
  auto compiled = compile([&](const Tensor& t) { return w ? t.sum() + w->sum() : t.sum(); });
  auto x = torch::ones({3});
  EXPECT_TRUE(same(torch::tensor(5.0f), compiled(x)));
  w->resize_({4}).fill_(2);
  EXPECT_TRUE(same(torch::tensor(11.0f), compiled(x)));
  w.reset();
  EXPECT_TRUE(same(torch::tensor(3.0f), compiled(x)));
  EXPECT_EQ(compiled.report().captures, 3u);
}

TEST(CapturedTensors, MadeInsideAndKeptOutside) {
  Tensor kept;
  auto compiled = compile([&](const Tensor& t) {
    kept = t + 1;  // a fake that outlives its capture is made real
    return kept * 2;
  });
  auto x = torch::ones({2});
  for (int call = 0; call < 2; ++call) {
    kept = Tensor();
    EXPECT_TRUE(same(torch::full({2}, 4.f), compiled(x)));
    EXPECT_TRUE(same(torch::full({2}, 2.f), kept));
    auto user = compile([&](const Tensor& t) { return t + kept; });
    EXPECT_TRUE(same(torch::full({2}, 3.f), user(x)));
    auto taker = compile([](const Tensor& t) { return t + 1; });
    EXPECT_TRUE(same(torch::full({2}, 3.f), taker(kept)));
  }
  EXPECT_EQ(code_thrown_by([&] { compiled(x); }), ErrorCode::UnsupportedOp);
}

}  // namespace
}  // namespace antegrad::test
