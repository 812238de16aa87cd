// Backward passes that are captured when they run: gradients, accumulation, hooks, custom functions, reuse.
#include <atomic>

#include "cpu/compiled_autograd/compiled_autograd_fixture.h"

namespace antegrad::test {
namespace {

// CAU-01
TEST_F(CompiledAutogradTest, OfASmallNetwork) {
  same_as_eager([] {
    auto net = small_net();
    net->forward(torch::randn({5, 4})).pow(2).sum().backward();
    return gradients(net);
  });
}

// CAU-02
TEST_F(CompiledAutogradTest, ANewNetworkOfTheSameStructureReusesIt) {
  const CompiledAutograd on;
  for (int i = 0; i < 3; ++i) {
    auto net = small_net();
    net->forward(torch::randn({5, 4})).pow(2).sum().backward();
  }
  EXPECT_EQ(stats().passes, 3u);
  EXPECT_EQ(stats().captures, 1u);
  EXPECT_EQ(stats().eager, 0u);
}

// CAU-03
TEST_F(CompiledAutogradTest, SeveralUsesAreSummed) {
  same_as_eager([] {
    const auto x = leaf({4});
    (x * x + x.sin() * x + x).sum().backward();
    return Tensors{x.grad()};
  });
}

// CAU-04, CAU-38
TEST_F(CompiledAutogradTest, GradReturnsAndLeavesGradAlone) {
  same_as_eager([] {
    const auto x = leaf({4}), y = leaf({4});
    const auto h = x * y;
    auto out = torch::autograd::grad({h.exp().sum()}, {x, y, h});
    EXPECT_FALSE(x.grad().defined());
    EXPECT_FALSE(y.grad().defined());
    return out;
  });
}

// CAU-05, CAU-49
TEST_F(CompiledAutogradTest, OnlyWhatIsAskedForIsRun) {
  same_as_eager([] {
    const auto x = leaf({4}), y = leaf({4});
    const auto h = x.sin() * y.cos();
    h.sum().backward({}, std::nullopt, false, Tensors{x});
    EXPECT_FALSE(y.grad().defined());
    return Tensors{x.grad()};
  });
}

// CAU-06
TEST_F(CompiledAutogradTest, AnotherLeafIsAnotherGraph) {
  const CompiledAutograd on;
  for (const int which : {0, 1, 0}) {
    const Tensors leaves = {leaf({4}), leaf({4})};
    const auto h = leaves[0].sin() * leaves[1].cos();
    torch::autograd::grad({h.sum()}, {leaves[static_cast<size_t>(which)]});
  }
  EXPECT_EQ(stats().captures, 2u);
}

// CAU-07, CAU-37
TEST_F(CompiledAutogradTest, AKeptGraphRunsCompiledAndByTheEngine) {
  const auto x = leaf({4});
  const auto y = (x.exp() * x).sum();
  Tensors results;
  for (int i = 0; i < 4; ++i) {
    const CompiledAutograd on(i % 2 == 0);
    x.mutable_grad().reset();
    y.backward({}, true);
    results.push_back(x.grad().clone());
  }
  for (const auto& result : results) EXPECT_TRUE(at::allclose(result, results[1], 1e-6, 1e-6));
  EXPECT_EQ(stats().captures, 1u);
}

TEST_F(CompiledAutogradTest, AReleasedGraphThrowsWhatEagerThrows) {
  const CompiledAutograd on;
  const auto x = leaf({4});
  const auto y = (x.exp() * x).sum();
  y.backward();
  EXPECT_THROW(y.backward(), c10::Error);
  (x.exp() * x).sum().backward();
}

TEST_F(CompiledAutogradTest, AWriteToASavedTensorThrows) {
  const CompiledAutograd on;
  const auto x = leaf({4});
  const auto h = x.exp();
  const auto y = h * h;
  {
    torch::NoGradGuard no_grad;
    h.add_(1);
  }
  EXPECT_THROW(y.sum().backward(), c10::Error);
  EXPECT_FALSE(x.grad().defined());
}

// CAU-08
TEST_F(CompiledAutogradTest, CompiledFunctionsAndEagerOpsInOnePass) {
  const auto first = compile([](const Tensor& x) { return (x.sin() * x).cos(); });
  const auto second = compile([](const Tensor& x) { return at::softmax(x, 0) * 2; });
  same_as_eager([&] {
    const auto x = leaf({6});
    (second(first(x) * 3 + 1).exp() * x).sum().backward();
    return Tensors{x.grad()};
  });
}

// CAU-09
TEST_F(CompiledAutogradTest, ScopesNest) {
  const auto x = leaf({4});
  const auto run = [&] { (x.exp() * x).sum().backward(); };
  run();
  EXPECT_EQ(stats().passes, 0u);
  {
    const CompiledAutograd on;
    run();
    {
      const CompiledAutograd off(false);
      run();
    }
    EXPECT_EQ(stats().passes, 1u);
    run();
  }
  run();
  EXPECT_EQ(stats().passes, 2u);
  compiled_autograd::enable();
  run();
  compiled_autograd::disable();
  EXPECT_EQ(stats().passes, 3u);
}

TEST_F(CompiledAutogradTest, Stances) {
  const CompiledAutograd on;
  const auto x = leaf({4});
  const auto run = [&] { (x.exp() * x).sum().backward(); };
  compiled_autograd::set_stance(compiled_autograd::Stance::FailOnRecompile);
  EXPECT_THROW(run(), Error);
  compiled_autograd::set_stance(compiled_autograd::Stance::Normal);
  run();
  compiled_autograd::set_stance(compiled_autograd::Stance::FailOnRecompile);
  run();
  compiled_autograd::set_stance(compiled_autograd::Stance::ForceEager);
  run();
  EXPECT_EQ(stats().eager, 1u);
}

// CAU-10
TEST_F(CompiledAutogradTest, SaysWhatWasNew) {
  const CompiledAutograd on;
  for (int64_t size : {4, 5}) {
    const auto x = leaf({size});
    (x.exp() * x).sum().backward();
  }
  const auto reasons = stats().capture_reasons;
  ASSERT_EQ(reasons.size(), 2u);
  EXPECT_NE(reasons[0].find("a new structure of 3 nodes"), std::string::npos) << reasons[0];
  EXPECT_EQ(reasons[1].find("a new structure"), std::string::npos) << reasons[1];
  EXPECT_NE(reasons[1].find("tensor "), std::string::npos) << reasons[1];  // which one, and how it differs
  EXPECT_NE(reasons[1].find('5'), std::string::npos) << reasons[1];
  // Each node has a scope with its name and its position in the pass.
  for (const char* node : {"at \"MulBackward0_1\"", "at \"ExpBackward0_2\""})
    EXPECT_NE(compiled_autograd::graph().find(node), std::string::npos) << compiled_autograd::graph();
}

// CAU-14, CAU-15
TEST_F(CompiledAutogradTest, GradientsAccumulateInPlace) {
  same_as_eager([] {
    auto net = small_net();
    Tensors first;
    for (int i = 0; i < 10; ++i) {
      net->forward(torch::randn({5, 4})).pow(2).sum().backward();
      if (i == 0) first = gradients(net);
    }
    for (size_t i = 0; i < first.size(); ++i) EXPECT_TRUE(first[i].is_same(gradients(net)[i]));
    return first;
  });
  EXPECT_LE(stats().captures, 2u);
}

// CAU-16
TEST_F(CompiledAutogradTest, GradientsDoNotAlias) {
  const CompiledAutograd on;
  const auto x = leaf({4}), y = leaf({4});
  (x + y).sum().backward();
  EXPECT_FALSE(x.grad().is_alias_of(y.grad()));
  x.grad().add_(1);
  EXPECT_TRUE(at::equal(y.grad(), torch::ones({4})));
}

// CAU-20, CAU-48
TEST_F(CompiledAutogradTest, TensorHooksChangeGradients) {
  same_as_eager([] {
    auto net = small_net();
    for (const auto& parameter : net->parameters())
      parameter.register_hook([](const Tensor& gradient) { return gradient.clamp(-0.1, 0.1); });
    const auto h = net->forward(torch::randn({5, 4}));
    h.register_hook([](const Tensor& gradient) { return gradient * 2; });
    h.pow(2).sum().backward();
    return gradients(net);
  });
}

// CAU-22, CAU-24
TEST_F(CompiledAutogradTest, HooksRunInEagersOrder) {
  const auto order_of = [] {
    std::vector<std::string> order;
    const auto note = [&](const char* what) {
      return [&order, what](const Tensor& gradient) {
        order.emplace_back(what);
        return gradient;
      };
    };
    const auto w = leaf({4}), b = leaf({4});
    w.register_hook(note("w"));
    w.register_hook(note("w again"));
    b.register_hook(note("b"));
    const auto h = (torch::ones({4}) * w).tanh();
    h.register_hook(note("h"));
    const auto y = h + b;
    y.register_hook(note("y"));
    y.exp().sum().backward();
    return order;
  };
  const auto eager = order_of();
  const CompiledAutograd on;
  EXPECT_EQ(order_of(), eager);
  EXPECT_EQ(stats().eager, 0u);
}

// CAU-40
TEST_F(CompiledAutogradTest, RetainedGradients) {
  same_as_eager([] {
    const auto x = leaf({4});
    const auto h = x.sin();
    h.retain_grad();
    (h * h).sum().backward();
    return Tensors{x.grad(), h.grad()};
  });
}

struct Scaled : torch::autograd::Function<Scaled> {
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& x, double factor) {
    context->save_for_backward({x});
    context->saved_data["factor"] = factor;
    return x * x * factor;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto x = context->get_saved_variables()[0];
    return {gradients[0] * x * 2 * context->saved_data["factor"].toDouble(), Tensor()};
  }
};

/// Stores one value of each kind that a context can hold.
struct Keeping : torch::autograd::Function<Keeping> {
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& x, bool negates,
                        int64_t power) {
    context->save_for_backward({x, x.detach() * 2});
    context->saved_data["tensor"] = x.detach().cos();
    context->saved_data["negates"] = negates;
    context->saved_data["power"] = power;
    c10::List<std::string> names;
    for (const char* name : {"first", "second"}) names.push_back(name);
    context->saved_data["names"] = names;
    c10::Dict<std::string, double> factors;
    factors.insert("first", 0.5);
    factors.insert("second", 4.0);
    context->saved_data["factors"] = factors;
    return x.sin();
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    auto& data = context->saved_data;
    auto out = gradients[0] * data["tensor"].toTensor() + saved[1] - 2 * saved[0];
    const auto factors = data["factors"].toGenericDict();
    for (const auto& name : data["names"].toListRef()) out = out * factors.at(name).toDouble();
    out = out.pow(data["power"].toInt());
    return {data["negates"].toBool() ? -out : out, Tensor(), Tensor()};
  }
};

// CAU-34
TEST_F(CompiledAutogradTest, WhatACustomFunctionKeepsIsThereInTheBackwardPass) {
  for (const bool negates : {false, true})
    for (const int64_t power : {1, 3})
      same_as_eager([=] {
        const auto x = leaf({5});
        (Keeping::apply(x.exp(), negates, power) * 3).sum().backward();
        return Tensors{x.grad()};
      });
}

// CAU-28, CAU-33
TEST_F(CompiledAutogradTest, CustomFunctionsRunWhereTheyStand) {
  same_as_eager([] {
    Tensors out;
    for (int64_t size : {3, 4, 5}) {
      const auto x = leaf({size});
      (Scaled::apply(x.sin(), 1.5).exp() * x).sum().backward();
      out.push_back(x.grad());
    }
    return out;
  });
}

TEST_F(CompiledAutogradTest, ViewsWrittenInPlace) {
  same_as_eager([] {
    const auto x = leaf({4, 3}), y = leaf({3});
    const auto h = x * 2;
    h.select(0, 1).mul_(y);
    h.slice(1, 0, 2).add_(1);
    h.sin().sum().backward();
    return Tensors{x.grad(), y.grad()};
  });
}

TEST_F(CompiledAutogradTest, UndefinedGradients) {
  same_as_eager([] {
    const auto x = leaf({4}), y = leaf({4});
    const auto parts = (x * y).chunk(2);
    (parts[0] * 2).sum().backward();
    return Tensors{x.grad(), y.grad()};
  });
}

TEST_F(CompiledAutogradTest, SeveralRoots) {
  same_as_eager([] {
    const auto x = leaf({4}), y = leaf({4});
    torch::autograd::backward({x * y, (x + y).exp()}, {torch::randn({4}), torch::randn({4})});
    return Tensors{x.grad(), y.grad()};
  });
}

// CAU-38
TEST_F(CompiledAutogradTest, GradientsWithAHistoryAreTheEngines) {
  same_as_eager(
      [] {
        const auto x = leaf({4});
        const auto first = torch::autograd::grad({(x.exp() * x).sum()}, {x}, {}, true, true)[0];
        return Tensors{first.detach(), torch::autograd::grad({first.sum()}, {x})[0]};
      },
      1);
}

// CAU-39
TEST_F(CompiledAutogradTest, UnreachableInputs) {
  same_as_eager([] {
    const auto x = leaf({4}), y = leaf({4});
    return torch::autograd::grad({x.exp().sum()}, {x, y}, {}, std::nullopt, false, true);
  });
}

TEST_F(CompiledAutogradTest, BackwardInsideAHook) {
  same_as_eager([] {
    const auto x = leaf({4}), inner = leaf({4});
    const auto h = x.sin();
    h.register_hook([inner](const Tensor& gradient) {
      const c10::AutoGradMode with_grad(true);
      (inner.exp() * inner).sum().backward();
      return gradient;
    });
    h.sum().backward();
    return Tensors{x.grad(), inner.grad()};
  });
}

TEST_F(CompiledAutogradTest, AnErrorInAHookLeavesTheEngineUsable) {
  const CompiledAutograd on;
  const auto x = leaf({4});
  const auto h = x.sin();
  h.register_hook([](const Tensor&) -> Tensor { throw std::runtime_error("from a hook"); });
  EXPECT_THROW(
      {
        try {
          h.sum().backward();
        } catch (const std::runtime_error& error) {
          EXPECT_STREQ(error.what(), "from a hook");
          throw;
        }
      },
      std::runtime_error);
  (x.exp() * x).sum().backward();
  EXPECT_TRUE(x.grad().defined());
}

TEST_F(CompiledAutogradTest, Training) {
  same_as_eager([] {
    auto net = torch::nn::Sequential(torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 3, 3).bias(false)),
                                     torch::nn::BatchNorm2d(3), torch::nn::ReLU(), torch::nn::Flatten(),
                                     torch::nn::Linear(48, 3));
    torch::optim::Adam optimizer(net->parameters(), 0.01);
    for (int step = 0; step < 5; ++step) {
      optimizer.zero_grad();
      torch::cross_entropy_loss(net->forward(torch::randn({4, 1, 6, 6})), torch::randint(3, {4})).backward();
      optimizer.step();
    }
    Tensors out;
    for (const auto& parameter : net->parameters()) out.push_back(parameter.detach());
    return out;
  });
  EXPECT_EQ(stats().captures, 1u);
}

}  // namespace
}  // namespace antegrad::test
