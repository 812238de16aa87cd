// Hooks that are part of compiled backward passes, and hooks that are called between and after graphs.
#include "cpu/compiled_autograd/compiled_autograd_fixture.h"

namespace antegrad::test {
namespace {

using compiled_autograd::graph;

class CompiledAutogradHooksTest : public CompiledAutogradTest {
 protected:
  static bool says(const std::vector<std::string>& reasons, const std::string& what) {
    for (const auto& reason : reasons)
      if (reason.find(what) != std::string::npos) return true;
    return false;
  }
};

auto clamped() {
  return traceable([](const Tensor& gradient) { return gradient.clamp(-0.3, 0.3); });
}

// CAU-20, CAU-48
TEST_F(CompiledAutogradHooksTest, OfATensorIsPartOfTheGraph) {
  const auto program = [] {
    const auto x = leaf({4});
    const auto h = x.sin();
    h.register_hook(clamped());
    h.exp().sum().backward();
    return Tensors{x.grad()};
  };
  same_as_eager(program);
  same_as_eager(program);
  EXPECT_EQ(stats().captures, 1u);
  EXPECT_TRUE(stats().cut_reasons.empty());
  EXPECT_NE(graph().find("hook_0_of_SinBackward0_"), std::string::npos) << graph();
  EXPECT_NE(graph().find("clamp"), std::string::npos) << graph();
}

TEST_F(CompiledAutogradHooksTest, OneThatIsNotMarkedCutsAndIsNamed) {
  same_as_eager([] {
    const auto x = leaf({4});
    const auto h = x.sin();
    h.register_hook([](const Tensor& gradient) { return gradient * 2; });
    h.exp().cos().sum().backward();
    return Tensors{x.grad()};
  });
  EXPECT_EQ(stats().captures, 1u);  // of what precedes the hook; a single node follows it
  ASSERT_EQ(stats().cut_reasons.size(), 1u);
  EXPECT_EQ(stats().cut_reasons[0], "SinBackward0: it has a hook that is not marked traceable");
}

TEST_F(CompiledAutogradHooksTest, SeveralInTheirOrder) {
  same_as_eager([] {
    const auto x = leaf({4});
    const auto h = x.sin();
    h.register_hook(traceable([](const Tensor& gradient) { return gradient + 1; }));
    const auto removed = h.register_hook(clamped());
    h.register_hook(traceable([](const Tensor& gradient) { return gradient * 3; }));
    h.register_hook(traceable([](const Tensor& gradient) { gradient.exp(); }));  // its result is unused
    h.remove_hook(removed);
    const auto again = traceable([](const Tensor& gradient) { return gradient.neg(); });
    h.register_hook(again);
    h.exp().sum().backward();
    return Tensors{x.grad()};
  });
  EXPECT_TRUE(stats().cut_reasons.empty());
  EXPECT_EQ(graph().find("clamp"), std::string::npos);
  EXPECT_NE(graph().find("hook_3_of_SinBackward0_"), std::string::npos) << graph();
}

// CAU-21
TEST_F(CompiledAutogradHooksTest, OfNodes) {
  same_as_eager([] {
    const auto x = leaf({4});
    const auto h = x.sin();
    h.grad_fn()->add_pre_hook(traceable_pre_hook([](const Tensors& in) { return Tensors{in[0] + 1}; }));
    h.grad_fn()->add_post_hook(
        traceable_post_hook([](const Tensors& out, const Tensors& in) { return Tensors{out[0] * in[0]}; }));
    h.register_hook(clamped());
    (h * h).sum().backward();
    return Tensors{x.grad()};
  });
  EXPECT_EQ(stats().captures, 1u);
  EXPECT_TRUE(stats().cut_reasons.empty());
  EXPECT_NE(graph().find("hook_2_of_SinBackward0_"), std::string::npos) << graph();
}

TEST_F(CompiledAutogradHooksTest, OfLeaves) {
  same_as_eager([] {
    auto net = small_net();
    for (const auto& parameter : net->parameters()) parameter.register_hook(clamped());
    for (int i = 0; i < 2; ++i) net->forward(torch::randn({5, 4})).pow(2).sum().backward();
    return gradients(net);
  });
  EXPECT_EQ(stats().captures, 1u);
  EXPECT_NE(graph().find("hook_0_of_AccumulateGrad_"), std::string::npos) << graph();
}

TEST_F(CompiledAutogradHooksTest, OfALeafThatIsAskedFor) {
  same_as_eager([] {
    const auto x = leaf({4}), y = leaf({4});
    x.register_hook(clamped());
    const auto h = x * y;
    h.register_hook(clamped());
    return torch::autograd::grad({h.exp().sum()}, {x, y, h});
  });
  EXPECT_EQ(stats().captures, 1u);
  EXPECT_TRUE(stats().cut_reasons.empty());
}

TEST_F(CompiledAutogradHooksTest, OfALeafWhoseGradientComesFromSeveralGraphs) {
  same_as_eager([] {
    const auto x = leaf({4});
    x.register_hook(clamped());
    const auto h = x.sin();
    h.register_hook([](const Tensor& gradient) { return gradient * 2; });
    (h.exp() * x * x).sum().backward();
    return Tensors{x.grad()};
  });
  EXPECT_EQ(graph().find("AccumulateGrad"), std::string::npos) << graph();
}

// CAU-40
TEST_F(CompiledAutogradHooksTest, RetainingGradientsDoesNotCut) {
  same_as_eager([] {
    const auto x = leaf({4, 3});
    const auto h = x.sin().t();
    h.register_hook(clamped());
    h.retain_grad();
    const auto parts = h.exp().chunk(2);
    for (const auto& part : parts) part.retain_grad();
    for (int i = 0; i < 2; ++i) (parts[0] * parts[0]).sum().backward({}, true);
    return Tensors{x.grad(), h.grad(), parts[0].grad(), parts[1].grad()};
  });
  EXPECT_TRUE(stats().cut_reasons.empty());
}

TEST_F(CompiledAutogradHooksTest, WhatTheyHoldIsAnInput) {
  Tensors out;
  const auto scale = torch::full({4}, 2.0);
  const CompiledAutograd on;
  for (int i = 0; i < 3; ++i) {
    const auto x = torch::zeros({4}).set_requires_grad(true);
    const auto h = x.sin();
    static const auto hook = traceable([scale](const Tensor& gradient) { return gradient * scale; });
    h.register_hook(hook);
    (h * 1).sum().backward();
    out.push_back(x.grad());
    scale.add_(1);
  }
  EXPECT_EQ(stats().captures, 1u);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(at::equal(out[i], torch::full({4}, 2.0 + i))) << out[i];
}

TEST_F(CompiledAutogradHooksTest, WhatTheySaveIsWritten) {
  const auto largest = torch::zeros({});
  const auto hook = traceable(
      [largest](const Tensor& gradient) { largest.copy_(at::maximum(largest, gradient.abs().max())); });
  same_as_eager([&] {
    largest.zero_();
    Tensors out;
    for (int i = 1; i < 4; ++i) {
      const auto x = leaf({4});
      const auto h = x.sin();
      h.register_hook(hook);
      h.exp().sum().backward();
      out.push_back(largest.clone());
    }
    return out;
  });
  EXPECT_EQ(stats().captures, 1u);
  EXPECT_TRUE(stats().cut_reasons.empty());
}

TEST_F(CompiledAutogradHooksTest, ThatWriteToTheGradient) {
  same_as_eager([] {
    const auto x = leaf({4}), y = leaf({4});
    const auto h = x.sin() + y.cos();
    h.register_hook(traceable([](const Tensor& gradient) { gradient.mul_(2); }));
    h.exp().sum().backward();
    return Tensors{x.grad(), y.grad()};
  });
  EXPECT_EQ(stats().captures, 1u);
}

TEST_F(CompiledAutogradHooksTest, WithAnotherStateAreOtherHooks) {
  const auto times = [](double factor) {
    return traceable([factor](const Tensor& gradient) { return gradient * factor; });
  };
  const auto two = times(2), three = times(3);
  const CompiledAutograd on;
  for (int i = 0; i < 6; ++i) {
    const auto x = torch::zeros({4}).set_requires_grad(true);
    const auto h = x.sin();
    h.register_hook(i % 2 == 0 ? two : three);
    (h * 1).sum().backward();
    EXPECT_TRUE(at::equal(x.grad(), torch::full({4}, i % 2 == 0 ? 2.0 : 3.0))) << x.grad();
  }
  EXPECT_EQ(stats().captures, 2u);
}

TEST_F(CompiledAutogradHooksTest, ThatAreMadeAnewAgainAndAgainAreCalled) {
  const CompiledAutograd on;
  for (int i = 0; i < 25; ++i) {
    const auto x = torch::zeros({4}).set_requires_grad(true);
    const auto h = x.sin();
    h.register_hook(traceable([i](const Tensor& gradient) { return gradient * i; }));
    (h * 1).sum().backward();
    EXPECT_TRUE(at::equal(x.grad(), torch::full({4}, double(i)))) << x.grad();
  }
  EXPECT_LE(stats().captures, 20u);
  EXPECT_TRUE(says(stats().eager_reasons, "made anew repeatedly"));
  EXPECT_TRUE(says(stats().cut_reasons, "could not be traced"));
}

TEST_F(CompiledAutogradHooksTest, ThatReadDataAreCalledBetweenGraphs) {
  int calls = 0;
  const auto program = [&calls] {
    calls = 0;
    Tensors out;
    for (int i = 0; i < 3; ++i) {
      const auto x = leaf({4});
      const auto h = x.sin();
      h.register_hook(traceable([&calls](const Tensor& gradient) {
        const auto norm = gradient.norm().item<float>();
        ++calls;
        return norm > 1 ? gradient / norm : gradient;
      }));
      h.exp().cos().sum().backward();
      out.push_back(x.grad());
    }
    return out;
  };
  same_as_eager(program);
  EXPECT_EQ(calls, 3);
  EXPECT_TRUE(says(stats().eager_reasons, "hook_0_of_SinBackward0_"));
  EXPECT_EQ(stats().captures, 1u);  // of what precedes the hook
  EXPECT_TRUE(says(stats().cut_reasons, "SinBackward0: it has a hook that could not be traced"));
}

TEST_F(CompiledAutogradHooksTest, ThatThrow) {
  const CompiledAutograd on;
  for (int i = 0; i < 2; ++i) {
    const auto x = leaf({4});
    const auto h = x.sin();
    h.register_hook(traceable([](const Tensor&) -> Tensor { throw std::runtime_error("from a hook"); }));
    try {
      h.exp().sum().backward();
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "from a hook");
    }
    EXPECT_FALSE(x.grad().defined());
  }
  EXPECT_TRUE(says(stats().eager_reasons, "from a hook"));
  const auto x = leaf({4});
  (x.exp() * x).sum().backward();
  EXPECT_TRUE(x.grad().defined());
}

TEST_F(CompiledAutogradHooksTest, ThatWriteToWhatIsSavedAreNoticed) {
  for (const bool compiled : {false, true}) {
    const CompiledAutograd guard(compiled);
    const auto x = leaf({4});
    const auto e = x.exp();
    const auto h = e.sin();
    h.register_hook([e](const Tensor&) {
      torch::NoGradGuard no_grad;
      e.add_(1);
    });
    EXPECT_THROW(h.cos().sum().backward(), c10::Error) << compiled;
    EXPECT_FALSE(x.grad().defined());
  }
}

TEST_F(CompiledAutogradHooksTest, WithSizesThatChange) {
  same_as_eager([] {
    Tensors out;
    for (int64_t size : {4, 5, 6, 7}) {
      const auto x = leaf({size, 3});
      const auto h = x.sin();
      h.register_hook(traceable([](const Tensor& gradient) { return gradient / gradient.size(0); }));
      h.exp().sum().backward();
      out.push_back(x.grad());
    }
    return out;
  });
  EXPECT_TRUE(stats().cut_reasons.empty());
}

TEST_F(CompiledAutogradHooksTest, OfCompiledFunctions) {
  const auto first = compile([](const Tensor& x) { return (x.sin() * x).cos(); });
  same_as_eager([&] {
    const auto x = leaf({6});
    const auto h = first(x * 2);
    h.register_hook(clamped());
    h.retain_grad();
    (h.exp() * x).sum().backward();
    return Tensors{x.grad(), h.grad()};
  });
  EXPECT_EQ(stats().captures, 1u);
  EXPECT_NE(graph().find("_of_aot"), std::string::npos) << graph();
}

}  // namespace
}  // namespace antegrad::test
