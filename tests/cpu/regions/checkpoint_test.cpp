// antegrad::checkpoint and antegrad::region.
#include <ATen/autocast_mode.h>
#include <antegrad/control.h>

#include "support/derivatives.h"
#include "support/seeds.h"

namespace antegrad::test {
namespace {

using at::Tensor;
using Tensors = std::vector<Tensor>;

template <class F, class G>
void same_derivatives(const F& plain, const G& other, const Tensors& leaves, const std::string& what,
                      int order = 2) {
  const auto x = leaves[0];
  expect_same_derivatives(derivatives([&] { return Tensors{plain(x)}; }, leaves, order),
                          derivatives([&] { return Tensors{other(x)}; }, leaves, order), what);
}

// CAU-26, also run with compiled autograd
TEST(Checkpoint, SeveralThatShareALeaf) {
  manual_seed(1);
  const auto w = torch::randn({4, 4}, torch::kF64).requires_grad_();
  const auto b = torch::randn({4}, torch::kF64).requires_grad_();
  const auto layer = [w, b](const Tensor& x) { return (x.matmul(w) + b).tanh(); };
  const auto plain = [=](const Tensor& x) { return layer(layer(layer(x) * b)); };
  const auto saving = [=](const Tensor& x) {
    return checkpoint(layer, checkpoint(layer, checkpoint(layer, x) * b));
  };
  const auto x = torch::randn({2, 4}, torch::kF64).requires_grad_();
  same_derivatives(plain, saving, {x, w, b}, "eager");
  same_derivatives(plain, compile(saving), {x, w, b}, "compiled");
}

/// What a compiled checkpoint may use and an uncompiled one may not: it must run compiled also in a stream of
/// sizes that never repeat.
TEST(Checkpoint, MayReferToLocalTensorsAtSizesThatNeverRepeat) {
  manual_seed(1);
  const auto w = torch::randn({3}, torch::kF64).requires_grad_();
  const auto plain = [w](const Tensor& x) { return (x * (x * w).exp()).sin().sum(); };
  const auto saving = [w](const Tensor& x) {
    const auto local = (x * w).exp();
    return checkpoint([&](const Tensor& x) { return (x * local).sin(); }, x).sum();
  };
  const auto nested = [&](const Tensor& x) {
    return cond(
        x.square().sum() > 0, [&] { return saving(x); }, [&] { return x.sum(); });
  };
  const auto compiled = compile(saving);
  const auto compiled_nested = compile(nested);
  for (int64_t n = 2; n < 34; ++n) {
    const auto x = torch::randn({n, 3}, torch::kF64).requires_grad_();
    same_derivatives(plain, compiled, {x, w}, std::to_string(n), 1);
    same_derivatives(plain, compiled_nested, {x, w}, std::to_string(n) + " nested", 1);
  }
  EXPECT_EQ(compiled.report().eager_calls, 0U);
  EXPECT_EQ(compiled_nested.report().eager_calls, 0U);
}

TEST(Checkpoint, CallsTheFunctionAgain) {
  int calls = 0;
  const auto x = torch::ones({2}).requires_grad_();
  auto y = checkpoint(
      [&](const Tensor& x) {
        ++calls;
        return x.exp();
      },
      x);
  EXPECT_EQ(calls, 1);
  y.sum().backward();
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(torch::equal(x.grad(), x.exp()));
}

// CAU-27, also run with compiled autograd
TEST(Checkpoint, DrawsTheSameNumbersAgain) {
  const auto function = [](const Tensor& x) {
    return checkpoint([](const Tensor& x) { return torch::dropout(x * 3, 0.5, true); }, x) + 1;
  };
  for (const bool is_compiled : {false, true})
    for (const auto rng : {Rng::Fused, Rng::Eager}) {
      manual_seed(1);
      Options options;
      options.rng = rng;
      const auto compiled = compile(function, options);
      for (int k = 0; k < 3; ++k) {
        const auto x = torch::ones({50}).requires_grad_();
        const auto y = is_compiled ? compiled(x) : function(x);
        const auto other = torch::rand({3});  // the generator goes on
        y.sum().backward();
        EXPECT_TRUE(torch::equal(x.grad(), (y - 1).detach())) << is_compiled << k;
        EXPECT_GT((y - 1).count_nonzero().item<int64_t>(), 5);
        EXPECT_LT((y - 1).count_nonzero().item<int64_t>(), 45);
      }
    }
}

TEST(Checkpoint, IsRepeatedWithAutocastAsInTheCall) {
  manual_seed(1);
  const auto w = torch::randn({8, 8}).requires_grad_(), x = torch::randn({4, 8}).requires_grad_();
  const auto layer = [w](const Tensor& x) { return x.matmul(w).tanh(); };
  const auto gradients = [&](const auto& function) {
    at::autocast::set_autocast_enabled(at::kCPU, true);
    const auto first = x.matmul(w);  // casts w, and keeps the result
    const auto y = function(x);
    at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(at::kCPU, false);
    EXPECT_EQ(y.scalar_type(), at::kBFloat16);
    return torch::autograd::grad({(y * first.detach()).sum()}, {x, w});
  };
  const auto expected = gradients(layer);
  const auto actual = gradients([&](const Tensor& x) { return checkpoint(layer, x); });
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(torch::equal(expected[i], actual[i])) << i;
}

TEST(Region, SecondDerivativesOfRandomNumbers) {
  manual_seed(1);
  const auto compiled = compile([](const Tensor& x) {
    return region(
        "noise", [](const Tensor& x) { return torch::dropout(x * x * x, 0.5, true); }, x);
  });
  const auto x = (torch::rand({40}, torch::kF64) + 1).requires_grad_();
  const auto y = compiled(x);
  const auto g = torch::autograd::grad({y.sum()}, {x}, {}, true, true)[0];
  const auto h = torch::autograd::grad({g.sum()}, {x})[0];
  EXPECT_TRUE(torch::allclose(g.detach(), 3 * y.detach() / x.detach()));
  EXPECT_TRUE(torch::allclose(h, 6 * y.detach() / (x * x).detach()));
}

TEST(Region, DerivativesBesideOtherRandomNumbers) {
  manual_seed(1);
  const auto drop = [](const Tensor& x) { return torch::dropout(x, 0.5, true); };
  for (const auto rng : {Rng::Fused, Rng::Eager})
    for (const bool is_checkpoint : {false, true}) {
      Options options;
      options.rng = rng;
      const auto compiled = compile(
          [&](const Tensor& x) {
            const auto y = drop(x * x * x);
            return drop(is_checkpoint ? checkpoint(drop, y) : region("noise", drop, y));
          },
          options);
      const auto x = (torch::rand({90}, torch::kF64) + 1).requires_grad_();
      const auto y = compiled(x);
      const auto g = torch::autograd::grad({y.sum()}, {x}, {}, true, true)[0];
      const auto h = torch::autograd::grad({g.sum()}, {x})[0];
      EXPECT_TRUE(torch::allclose(g.detach(), 3 * y.detach() / x.detach())) << is_checkpoint;
      EXPECT_TRUE(torch::allclose(h, 6 * y.detach() / (x * x).detach())) << is_checkpoint;
    }
}

TEST(Region, LayersThatAreAlike) {
  manual_seed(1);
  Tensors weights;
  for (int i = 0; i < 4; ++i) weights.push_back((torch::randn({4, 4}, torch::kF64) * 0.5).requires_grad_());
  const auto layer = [](const Tensor& x, const Tensor& w) { return (x.matmul(w).sin() + x).cos(); };
  const auto plain = [&](Tensor x) {
    for (const auto& w : weights) x = layer(x, w);
    return x;
  };
  const auto net = [&](Tensor x) {
    for (const auto& w : weights) x = region("layer", layer, x, w);
    return x;
  };
  auto leaves = weights;
  leaves.insert(leaves.begin(), torch::randn({3, 4}, torch::kF64).requires_grad_());
  same_derivatives(plain, net, leaves, "eager");
  const auto compiled = compile(net);
  same_derivatives(plain, compiled, leaves, "compiled");
  Tensor none;
  {
    const torch::NoGradGuard guard;
    EXPECT_TRUE(same_values(plain(leaves[0]), compiled(leaves[0])));
  }
}

TEST(Region, BufferIsReadAsItIsAtTheCall) {
  auto scale = torch::ones({2}, torch::kF64);
  const auto compiled = compile([&](const Tensor& x) {
    return region(
               "scaled", [&](const Tensor& x) { return x * scale; }, x) +
           scale;
  });
  const auto x = torch::ones({2}, torch::kF64).requires_grad_();
  for (int k = 0; k < 3; ++k) {
    const auto y = compiled(x);
    EXPECT_TRUE(torch::equal(y.detach(), 2 * scale));
    EXPECT_TRUE(torch::equal(torch::autograd::grad({y.sum()}, {x})[0], scale));
    scale.add_(1);
  }
}

TEST(Region, ViewsOfInputsThatAreWrittenBeforeTheBackwardPass) {
  const auto compiled = compile([](const Tensor& x, const Tensor& scale) {
    return region(
        "scaled", [](const Tensor& x, const Tensor& scale) { return x * scale; }, x, scale.t());
  });
  const auto x = torch::ones({2, 2}, torch::kF64).requires_grad_();
  auto scale = torch::full({2, 2}, 3., torch::kF64);
  const auto y = compiled(x, scale);
  const auto before = torch::autograd::grad({y.sum()}, {x}, {}, true)[0];
  EXPECT_TRUE(torch::equal(before, scale));
  scale.add_(1);
  try {
    EXPECT_TRUE(torch::equal(torch::autograd::grad({y.sum()}, {x})[0], before));
  } catch (const c10::Error& error) {
    EXPECT_NE(std::string(error.what()).find("modified by an inplace operation"), std::string::npos);
  }
}

TEST(Region, ArgumentsThatShareMemoryOfWhichOneIsWritten) {
  const auto compiled = compile([](const Tensor& x, Tensor whole, const Tensor& part) {
    const auto y = region(
        "scaled", [](const Tensor& x, const Tensor& scale) { return x * scale; }, x, part);
    whole.add_(1);
    return y;
  });
  const auto x = torch::ones({2, 2}, torch::kF64).requires_grad_();
  for (const bool transposed : {true, false}) {
    const auto scale = torch::full({2, 2}, 3., torch::kF64);
    const auto y = compiled(x, scale, transposed ? scale.t() : scale.view({2, 2}));
    try {
      EXPECT_TRUE(torch::equal(torch::autograd::grad({y.sum()}, {x})[0], scale - 1)) << transposed;
    } catch (const c10::Error& error) {
      EXPECT_NE(std::string(error.what()).find("modified by an inplace operation"), std::string::npos);
    }
  }
}

TEST(Region, OperandsThatAreWrittenAndReturned) {
  const auto x = torch::ones({2, 2}, torch::kF64).requires_grad_();
  const auto compiled = compile([](const Tensor& x, const Tensor& scale) {
    auto made = scale * 1;
    made.mul_(2);
    const auto scaled = [](const Tensor& x, const Tensor& scale) { return x * scale; };
    return std::tuple(made, region("scaled", scaled, x, made), region("scaled", scaled, x, made.t()));
  });
  const auto [made, y, z] = compiled(x, torch::full({2, 2}, 3., torch::kF64));
  EXPECT_EQ(made._version(), 1);
  EXPECT_TRUE(torch::equal(torch::autograd::grad({y.sum() + z.sum()}, {x}, {}, true)[0], 2 * made));
  made.zero_();
  EXPECT_THROW(torch::autograd::grad({y.sum() + z.sum()}, {x}), c10::Error);  // as eager
}

}  // namespace
}  // namespace antegrad::test
