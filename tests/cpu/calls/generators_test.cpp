// Generators that a function passes to ops: numbers, states and gradients are eager's, bit for bit.
#include <ATen/CPUGeneratorImpl.h>
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <functional>
#include <random>
#include <thread>

#include "support/leaf.h"

namespace antegrad::test {
namespace {

using at::Generator;
using at::Tensor;
using Tensors = std::vector<Tensor>;
using Draws = std::function<Tensors(const Tensor&, Generator)>;

Generator seeded(uint64_t seed) { return at::make_generator<at::CPUGeneratorImpl>(seed); }

void expect_equal(const Tensors& eager, const Tensors& compiled) {
  ASSERT_EQ(eager.size(), compiled.size());
  for (size_t i = 0; i < eager.size(); ++i) EXPECT_TRUE(at::equal(eager[i], compiled[i])) << i;
}

/// Calls the function with a generator as argument, and captured.
void expect_as_eager(const Draws& draws, const Options& options = {}) {
  const Generator own[] = {seeded(7), seeded(7), seeded(7)};
  auto argument = compile([draws](const Tensor& x, Generator g) { return draws(x, g); }, options);
  auto captured = compile([draws, g = own[2]](const Tensor& x) { return draws(x, g); }, options);
  for (int call = 0; call < 3; ++call) {
    SCOPED_TRACE(call);
    const auto x = torch::linspace(0.1, 0.9, 12).view({3, 4});
    const auto default_before = at::detail::getDefaultCPUGenerator().get_state();
    const auto eager = draws(x.clone(), own[0]);
    expect_equal(eager, argument(x.clone(), own[1]));
    expect_equal(eager, captured(x.clone()));
    EXPECT_TRUE(at::equal(own[0].get_state(), own[1].get_state()));
    EXPECT_TRUE(at::equal(own[0].get_state(), own[2].get_state()));
    EXPECT_TRUE(at::equal(default_before, at::detail::getDefaultCPUGenerator().get_state()));
  }
  EXPECT_EQ(argument.report().captures, 1U);
  EXPECT_EQ(captured.report().captures, 1U);
}

TEST(Generators, OpsThatMakeTensors) {
  expect_as_eager([](const Tensor& x, Generator g) -> Tensors {
    return {x + at::randn({3, 4}, g, at::TensorOptions()), at::rand({5}, g, at::TensorOptions()),
            at::randint(0, 10, {6}, g, at::TensorOptions(at::kLong)),
            at::randperm(9, g, at::TensorOptions(at::kLong))};
  });
}

TEST(Generators, OpsOnTensors) {
  expect_as_eager([](const Tensor& x, Generator g) -> Tensors {
    return {at::bernoulli(x, g), at::multinomial(x, 2, false, g), at::normal(x, x, g), at::poisson(x, g),
            at::normal(0.0, 1.0, {4}, g)};
  });
}

TEST(Generators, WritesInPlace) {
  expect_as_eager([](const Tensor& x, Generator g) -> Tensors {
    auto y = x.clone();
    y.t().normal_(1, 2, g);
    x.uniform_(0, 1, g);
    auto z = at::empty({7});
    z.exponential_(2, g).add_(at::empty({7}).log_normal_(0, 1, g));
    return {y * 2, x, z, at::empty({4}, at::kLong).random_(0, 100, g), x.clone().bernoulli_(0.5, g)};
  });
}

TEST(Generators, NumbersThatNobodyUsesAreDrawn) {
  expect_as_eager([](const Tensor& x, Generator g) -> Tensors {
    (void)at::randn({3}, g, at::TensorOptions());
    return {x * 2};
  });
}

TEST(Generators, OddNumbersOfNormals) {  // LibTorch keeps the second of a pair
  Options eager;
  eager.backend = Backend::Eager;
  for (const auto& options : {Options(), eager})
    expect_as_eager(
        [](const Tensor& x, Generator g) -> Tensors {
          auto a = at::randn({3}, g, at::TensorOptions(at::kDouble));
          return {x * 2, a, at::randn({1}, g, at::TensorOptions(at::kDouble))};
        },
        options);
}

TEST(Generators, SeveralAndAgain) {
  const auto function = [](const Tensor& x, Generator a, std::vector<Generator> more) {
    return x + at::randn({4}, a, at::TensorOptions()) + at::rand({4}, more[0], at::TensorOptions()) +
           at::rand({4}, more[1], at::TensorOptions());
  };
  auto compiled = compile(function);
  const Generator eager[] = {seeded(1), seeded(2)}, own[] = {seeded(1), seeded(2)};
  const auto x = torch::ones({4});
  for (int call = 0; call < 3; ++call) {
    EXPECT_TRUE(at::equal(function(x, eager[0], {eager[1], eager[0]}),
                          compiled(x, own[0], std::vector<Generator>{own[1], own[0]})));
    EXPECT_TRUE(at::equal(function(x, eager[0], {eager[0], eager[1]}),
                          compiled(x, own[0], std::vector<Generator>{own[0], own[1]})));
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(at::equal(eager[i].get_state(), own[i].get_state()));
  }
}

/// The way back sees the numbers of the way there, also after others have been drawn.
TEST(Generators, GradientsOfAllOrders) {
  const auto function = [](const Tensor& x, Generator g) {
    const auto noise = at::randn({3, 4}, g, at::TensorOptions());
    return ((x * noise).exp() * at::bernoulli(torch::full({3, 4}, 0.5), g)).sum();
  };
  for (const Policy& policy : {Policy(MinCut{}), Policy(SaveAll{}), Policy(RecomputeAll{})}) {
    Options options;
    options.policy = policy;
    auto compiled = compile(function, options);
    Generator eager = seeded(3), own = seeded(3);
    auto x = leaf({3, 4});
    for (int call = 0; call < 2; ++call) {
      auto derive = [&](const Tensor& result, const Generator& g) {
        (void)at::randn({3}, g, at::TensorOptions());
        auto first = torch::autograd::grad({result}, {x}, {}, true, true)[0];
        (void)at::randn({3}, g, at::TensorOptions());
        auto second = torch::autograd::grad({first.square().sum()}, {x}, {}, true, true)[0];
        return Tensors{result, first, second, torch::autograd::grad({second.sum()}, {x})[0], g.get_state()};
      };
      const auto expected = derive(function(x, eager), eager), actual = derive(compiled(x, own), own);
      for (size_t i = 0; i < expected.size(); ++i)
        EXPECT_TRUE(at::allclose(expected[i], actual[i], 1e-4, 1e-5)) << "order " << i << ", call " << call;
    }
  }
}

TEST(Generators, TheDefaultOneIsTheDefaultOne) {
  Options options;
  options.rng = Rng::Eager;
  const auto function = [](const Tensor& x) {
    return x + at::randn({3}, at::detail::getDefaultCPUGenerator(), at::TensorOptions());
  };
  auto compiled = compile(function, options);
  const auto x = torch::ones({3});
  for (int call = 0; call < 2; ++call) {
    torch::manual_seed(call);
    const auto expected = function(x);
    torch::manual_seed(call);
    EXPECT_TRUE(at::equal(expected, compiled(x)));
  }
}

/// It is made anew by each call, in the same state.
TEST(Generators, MadeInsideTheFunction) {
  const auto function = [](const Tensor& x) {
    auto g = seeded(5);
    return x + at::randn({3}, g, at::TensorOptions()) * at::rand({3}, g, at::TensorOptions());
  };
  auto compiled = compile(function);
  const auto x = torch::ones({3});
  for (int call = 0; call < 3; ++call) EXPECT_TRUE(at::equal(function(x), compiled(x)));
  EXPECT_EQ(compiled.report().captures, 1U);
}

TEST(Generators, AnotherOneInEachCall) {
  const auto function = [](const Tensor& x, Generator g) {
    return x + at::randn({3}, g, at::TensorOptions());
  };
  auto compiled = compile(function);
  const auto x = torch::ones({3});
  for (uint64_t call = 0; call < 6; ++call)
    EXPECT_TRUE(at::equal(function(x, seeded(call)), compiled(x, seeded(call))));
}

TEST(Generators, SeededOrDrawnFromByTheFunction) {
  auto g = seeded(5);
  const auto x = torch::ones({3});
  const std::function<void()> ways[] = {
      [&] { g.set_current_seed(3); },
      [&] { (void)g.get<at::CPUGeneratorImpl>()->random(); },
  };
  for (const auto& way : ways)
    for (const bool before : {true, false}) {
      const auto function = [&](const Tensor& a) {
        if (before) way();
        auto b = a + at::randn({3}, g, at::TensorOptions());
        if (!before) way();
        return b;
      };
      auto compiled = compile(function);
      try {
        compiled(x);
        ADD_FAILURE() << "nothing was thrown";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::UnsupportedOp);
        EXPECT_NE(std::string(error.what()).find("[capture:generator]"), std::string::npos) << error.what();
      }
      Options parts;
      parts.unsupported = Unsupported::Break;
      auto in_parts = compile(function, parts);
      in_parts(x);  // runs the function several times
      for (int call = 0; call < 3; ++call) {
        const auto state = g.get_state();
        const auto expected = function(x), after = g.get_state();
        g.set_state(state);
        EXPECT_TRUE(at::equal(expected, in_parts(x)));
        EXPECT_TRUE(at::equal(after, g.get_state()));
      }
    }
}

TEST(Generators, NewSizes) {
  const auto function = [](const Tensor& x, Generator g) {
    return (x.exp() + at::rand(x.sizes(), g, at::TensorOptions())).sum(0);
  };
  auto compiled = compile(function);
  Generator eager = seeded(3), own = seeded(3);
  for (int64_t n : {4, 5, 6, 4, 9}) {
    const auto x = torch::ones({n, 2});
    EXPECT_TRUE(at::allclose(function(x, eager), compiled(x, own))) << n;
    EXPECT_TRUE(at::equal(eager.get_state(), own.get_state())) << n;
  }
}

/// No two calls draw the same numbers.
TEST(Generators, ManyThreads) {
  const Generator g = seeded(3);
  auto compiled = compile([g](const Tensor& x) { return x + at::rand({2}, g, at::TensorOptions()); });
  const auto zero = torch::zeros({2});
  std::vector<Tensors> drawn(3);
  compiled(zero);
  std::vector<std::thread> threads;
  for (auto& own : drawn)
    threads.emplace_back([&] {
      for (int i = 0; i < 40; ++i) own.push_back(compiled(zero));
    });
  for (auto& thread : threads) thread.join();
  Tensors all;
  for (const auto& own : drawn) all.insert(all.end(), own.begin(), own.end());
  EXPECT_EQ(std::get<0>(at::_unique(at::stack(all).select(1, 0))).numel(), 120);
}

/// A program of random steps, each of which draws or computes. `choice` decides alike in every run.
Tensors run_random_program(uint64_t choice, const Tensor& x, const std::vector<Generator>& from) {
  std::mt19937_64 random(choice);
  const auto below = [&](size_t end) { return static_cast<size_t>(random() % end); };
  Tensors all = {x * 1.5, x.sin()};
  for (size_t step = 0, steps = 3 + below(8); step < steps; ++step) {
    const auto& g = from[below(from.size())];
    const auto a = all[below(all.size())], b = all[below(all.size())];
    const auto drawn = a.detach().clone();
    switch (below(8)) {
      case 0:
        all.push_back(a * at::randn(a.sizes(), g, a.options()));
        break;
      case 1:
        all.push_back(a * at::bernoulli(b.detach().sigmoid(), g));
        break;
      case 2:
        drawn.t().uniform_(-1, 1, g);
        all.push_back(drawn + b);
        break;
      case 3:
        all.push_back(a.index_select(0, at::randperm(a.size(0), g, at::TensorOptions(at::kLong))));
        break;
      case 4:
        drawn.select(0, 0).normal_(0, 1, g);
        all.push_back(a + drawn);
        break;
      case 5:
        all.push_back(a.clone().add_(at::rand(x.sizes(), g, x.options())));
        break;
      case 6:
        all.push_back((a * b).tanh());
        break;
      default:
        all.push_back(a.exp().clamp_max(3) - b);
    }
  }
  return {all.back(), all[below(all.size())].sum()};
}

TEST(Generators, RandomPrograms) {
  Options options;
  options.backend = Backend::Eager;
  for (uint64_t choice = 0; choice < 60; ++choice) {
    SCOPED_TRACE(choice);
    options.rng = choice % 2 == 0 ? Rng::Fused : Rng::Eager;
    const std::vector<Generator> eager = {seeded(1), seeded(2)}, own = {seeded(1), seeded(2)};
    auto compiled = compile(
        [choice, captured = own[1]](const Tensor& x, Generator g) {
          return run_random_program(choice, x, {g, captured});
        },
        options);
    for (int call = 0; call < 2; ++call) {
      auto x = torch::linspace(-1, 1, 12, at::kDouble).view({3, 4}).requires_grad_();
      const auto derive = [&](const Tensors& results) {
        const auto value = results[0].sin().sum() + results[1];
        auto first = torch::autograd::grad({value}, {x}, {}, true, true)[0];
        if (!first.requires_grad()) return Tensors{first};
        return Tensors{first, torch::autograd::grad({first.square().sum()}, {x}, {}, false, false, true)[0]};
      };
      const auto expected = run_random_program(choice, x, eager), actual = compiled(x, own[0]);
      expect_equal(expected, actual);
      const auto eager_gradients = derive(expected), gradients = derive(actual);
      ASSERT_EQ(eager_gradients.size(), gradients.size());
      for (size_t i = 0; i < gradients.size(); ++i) {
        ASSERT_EQ(eager_gradients[i].defined(), gradients[i].defined()) << i;
        if (!gradients[i].defined()) continue;
        EXPECT_TRUE(at::allclose(eager_gradients[i], gradients[i])) << i;
      }
      for (size_t i = 0; i < 2; ++i) EXPECT_TRUE(at::equal(eager[i].get_state(), own[i].get_state()));
    }
    EXPECT_EQ(compiled.report().captures, 1U);
  }
}

TEST(Generators, OfTheCallersAreNotExported) {
  const Generator g = seeded(3);
  auto x = torch::ones({2});
  auto function = [g](const Tensor& a) { return a + at::rand({2}, g, at::TensorOptions()); };
  try {
    (void)export_inference(function, x);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::UnsupportedTensor);
    EXPECT_NE(std::string(error.what()).find("it draws from a generator of the caller's"), std::string::npos);
  }
}

}  // namespace
}  // namespace antegrad::test
