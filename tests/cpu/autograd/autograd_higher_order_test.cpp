// Derivatives of derivatives, and random numbers that all passes must agree on.
#include <ATen/autocast_mode.h>

#include "support/seeds.h"
#include "support/training_like_eager.h"

namespace antegrad::test {
namespace {

using at::Tensor;

Tensor derivative(const Tensor& y, const Tensor& x) {
  return torch::autograd::grad({y.sum()}, {x}, {}, /*retain_graph=*/true, /*create_graph=*/true)[0];
}

/// A loss on the gradients, as in force matching.
void backward_of_gradients(const Scene& s) {
  Tensors gradients;
  for (const auto& input : that_require_grad(s.inputs)) {
    auto gradient = derivative(s.outputs[0], input);
    EXPECT_TRUE(gradient.requires_grad());
    gradients.push_back(gradient.pow(2).sum());
  }
  torch::stack(gradients).sum().backward();
}

TEST(HigherOrder, GradientsRequireGrad) {  // SUB-18, ERR-15 (here it works)
  auto a = leaf({3});
  auto gradient = derivative(compile([](const Tensor& x) { return x.pow(3); })(a), a);
  EXPECT_TRUE(gradient.requires_grad());
  EXPECT_TRUE(gradient.allclose(3 * a.pow(2)));
  gradient.sum().backward();
  EXPECT_TRUE(a.grad().allclose(6 * a));
}

// The gradient does not depend on b: the second capture has another tensor in its place.
TEST(HigherOrder, ViewsBeyondTheElementsOfAnArgument) {
  trained_like_eager(
      [](const Tensor& a, const Tensor& b) {
        b.as_strided({2}, {1}, 4);
        return a.sin();
      },
      [] { return std::tuple(leaf({3}), torch::arange(6.).slice(0, 0, 2)); }, backward_of_gradients);
}

TEST(HigherOrder, SecondOrder) {
  trained_like_eager([](const Tensor& a, const Tensor& b) { return (a * b).sin() * a; }, two_leaves,
                     backward_of_gradients);
  trained_like_eager([](const Tensor& a, const Tensor& b) { return at::mm(a.tanh(), b.t()).exp(); },
                     two_activations, backward_of_gradients);
}

TEST(HigherOrder, SecondOrderOfParameters) {
  auto net = [] {
    auto w = leaf({4, 4});
    return std::pair([w](const Tensor& x) { return at::mm(x, w).tanh().sum(); }, Tensors{w});
  };
  TrainingOptions options;
  options.finish = backward_of_gradients;
  trained_with_state_like_eager(net, one_leaf, options);
}

/// The old value of the argument does not matter, and yet derivatives are taken with respect to the argument.
TEST(HigherOrder, SecondOrderOfArgumentsThatAreOverwrittenWithoutGradients) {
  const auto overwritten = [](auto write) {
    return [write](const Tensor& a) {
      {
        at::NoGradGuard no_grad;
        write(a);
      }
      return a.erf() * a;
    };
  };
  const auto check = [&](auto write) {
    trained_like_eager(overwritten(write), one_activation, backward_of_gradients);
  };
  check([](const Tensor& a) { a.fill_(1); });
  check([](const Tensor& a) { a.zero_(); });
  check([](const Tensor& a) { a.select(0, 1).fill_(2); });
  check([](const Tensor& a) { a.copy_(at::full_like(a, 0.5)); });
}

TEST(HigherOrder, ThirdAndFourthOrder) {
  auto a = torch::full({3}, 0.5F).requires_grad_();
  auto y = compile([](const Tensor& x) { return x.sin(); })(a);
  for (int order = 1; order <= 4; ++order) {
    y = derivative(y, a);
    auto expected = (a.detach() + order * M_PI / 2).sin();
    EXPECT_TRUE(y.allclose(expected, 1e-5, 1e-6)) << order << y << expected;
  }
}

TEST(HigherOrder, LeavesTheAutocastSettings) {
  const auto before = at::autocast::get_autocast_dtype(at::kCPU);
  at::autocast::set_autocast_enabled(at::kCPU, true);
  at::autocast::set_autocast_dtype(at::kCPU, at::kHalf);
  const auto x = torch::randn({3}).requires_grad_();
  const auto y = compile([](const Tensor& x) { return x.sin(); })(x).sum();
  at::autocast::set_autocast_enabled(at::kCPU, false);
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  torch::autograd::grad({y}, {x}, {}, true, true);
  EXPECT_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
  EXPECT_EQ(at::autocast::get_autocast_dtype(at::kCPU), at::kBFloat16);
  at::autocast::set_autocast_dtype(at::kCPU, before);
  at::autocast::clear_cache();
}

TEST(HigherOrder, BackwardWithCreateGraph) {
  trained_like_eager([](const Tensor& a) { return a.pow(3).sum(); }, one_leaf,
                     [](const Scene& s) {
                       s.outputs[0].backward({}, true, /*create_graph=*/true);
                       auto first = s.inputs[0].grad();
                       s.inputs[0].mutable_grad() = Tensor();
                       first.sum().backward();
                     });
}

TEST(HigherOrder, GradientOfTheTangent) {
  auto check = [](auto function) {
    test::manual_seed(2);
    auto a = leaf({3});
    auto v = leaf({3});
    auto vjp = torch::autograd::grad({function(a)}, {a}, {v}, true, /*create_graph=*/true)[0];
    return torch::autograd::grad({vjp.pow(2).sum()}, {a, v});
  };
  auto function = [](const Tensor& x) { return x.exp(); };
  auto expected = check(function);
  auto actual = check(compile(function));
  for (size_t i : {0, 1}) EXPECT_TRUE(expected[i].allclose(actual[i])) << i;
}

TEST(HigherOrder, FirstWithThenWithoutCreateGraph) {
  trained_like_eager([](const Tensor& a) { return (a * a * a).sum(); }, one_leaf,
                     [](const Scene& s) {
                       derivative(s.outputs[0], s.inputs[0]).sum().backward({}, /*retain_graph=*/true);
                       s.outputs[0].backward();
                     });
}

TEST(HigherOrder, ThroughViewsAndSeveralOutputs) {
  trained_like_eager([](const Tensor& a) { return std::tuple(a.sin().t(), a.pow(2).sum(0)); }, one_leaf,
                     [](const Scene& s) {
                       auto one = derivative(s.outputs[0].pow(2), s.inputs[0]);
                       auto two = derivative(s.outputs[1].exp(), s.inputs[0]);
                       (one * two).sum().backward();
                     });
}

TEST(HigherOrder, OfMutatedActivations) {
  trained_like_eager(
      [](const Tensor& a) {
        a.mul_(2);
        return a.sin();
      },
      one_activation,
      [](const Scene& s) {
        const auto leaf_behind = leaves_of(s.inputs)[0];
        derivative(s.outputs[0], leaf_behind).pow(2).sum().backward();
      });
}

TEST(HigherOrder, OfAnOpThatIsNotTwiceDifferentiable) {
  auto function = [](const Tensor& a, const Tensor& b) { return at::cdist(a, b, 1.0); };
  trained_like_eager(function, two_leaves);
  trained_like_eager(function, two_leaves, backward_of_gradients);
}

TEST(HigherOrder, CapturesStayOne) {
  auto compiled = compile([](const Tensor& a) { return a.pow(3).sum(); });
  for (int step = 0; step < 3; ++step) {
    auto a = leaf({3});
    derivative(compiled(a), a).pow(2).sum().backward();
  }
  EXPECT_EQ(compiled.report().captures, 1U);
}

TEST(HigherOrder, LayerNorm) {
  trained_like_eager([](const Tensor& x, const Tensor& w) { return at::layer_norm(x, {4}, w).sin(); },
                     [] {
                       return std::tuple(leaf({3, 4}), leaf({4}));
                     },
                     [](const Scene& s) { derivative(s.outputs[0], s.inputs[0]).pow(2).sum().backward(); });
}

// --- random numbers

Options with(Rng rng) {
  Options options;
  options.rng = rng;
  return options;
}

auto dropout() {
  return [](const Tensor& a) { return at::dropout(a, 0.5, true); };
}

TEST(RandomInTraining, BackwardSeesTheMaskOfTheForward) {  // RNG-04
  for (auto rng : {Rng::Fused, Rng::Eager}) {
    auto a = torch::ones({64}).requires_grad_();
    auto out = compile(dropout(), with(rng))(a);
    out.sum().backward();
    EXPECT_TRUE(a.grad().equal(out.detach()));
    EXPECT_TRUE((out == 0).any().item<bool>());
    EXPECT_TRUE((out != 0).any().item<bool>());
  }
}

TEST(RandomInTraining, BackwardPassesOfAKeptGraphAgree) {
  for (auto rng : {Rng::Fused, Rng::Eager}) {
    auto a = torch::ones({64}).requires_grad_();
    auto out = compile(dropout(), with(rng))(a);
    out.sum().backward({}, /*retain_graph=*/true);
    torch::rand({3});
    out.sum().backward();
    EXPECT_TRUE(a.grad().equal(2 * out.detach()));
  }
}

TEST(RandomInTraining, SecondDerivativesSeeTheMaskOfTheForward) {
  for (auto rng : {Rng::Fused, Rng::Eager}) {
    auto a = torch::full({64}, 2.0F).requires_grad_();
    auto compiled = compile([](const Tensor& x) { return at::dropout(x * x * x, 0.5, true); }, with(rng));
    auto out = compiled(a);
    auto mask = (out.detach() != 0).to(at::kFloat) * 2;
    torch::rand({3});
    auto first = derivative(out, a);
    EXPECT_TRUE(first.allclose(mask * 12)) << static_cast<int>(rng);
    torch::rand({5});
    first.sum().backward();
    EXPECT_TRUE(a.grad().allclose(mask * 12)) << static_cast<int>(rng);
  }
}

TEST(RandomInTraining, EagerNumbersEqualEager) {  // RNG-01
  TrainingOptions options;
  options.compile.rng = Rng::Eager;
  trained_like_eager([](const Tensor& a) { return at::dropout(a.sin(), 0.3, true) * torch::rand_like(a); },
                     one_leaf, options);
}

TEST(RandomInTraining, GradientsOfRandomPlusAndTimes) {  // RNG-04
  auto w = leaf({4, 4});
  auto compiled = compile([&](const Tensor& x) {
    return std::tuple(at::mm(x, w) + torch::rand({3, 4}), x * torch::rand_like(x));
  });
  auto x = torch::ones({3, 4}).requires_grad_();
  auto [plus, times] = compiled(x);
  auto of_plus = torch::autograd::grad({plus.sum()}, {x, w}, {}, /*retain_graph=*/true);
  EXPECT_TRUE(of_plus[0].allclose(w.detach().sum(1).expand({3, 4})));
  EXPECT_TRUE(of_plus[1].allclose(torch::full({4, 4}, 3.0F)));
  EXPECT_TRUE(torch::autograd::grad({times.sum()}, {x})[0].equal(times.detach()));
}

TEST(RandomInTraining, CallsDrawAnew) {  // RNG-02
  for (auto rng : {Rng::Fused, Rng::Eager}) {
    auto compiled = compile([](const Tensor& x) { return torch::rand_like(x) * x; }, with(rng));
    auto x = torch::ones({16}).requires_grad_();
    auto first = compiled(x);
    EXPECT_FALSE(first.equal(compiled(x)));
    test::manual_seed(11);
    auto seeded = compiled(x);
    test::manual_seed(11);
    EXPECT_TRUE(seeded.equal(compiled(x)));
  }
}

TEST(RandomInTraining, OutputsKeepTheirOrder) {  // RNG-03
  auto compiled = compile([](const Tensor& x) {
    return std::tuple(x * 2, torch::rand({5}), x.sum(), torch::randn({2, 3}), x > 0);
  });
  auto x = leaf({4});
  auto [twice, uniform, sum, normal, positive] = compiled(x);
  EXPECT_TRUE(twice.equal(x * 2));
  EXPECT_TRUE(sum.equal(x.sum()));
  EXPECT_TRUE(positive.equal(x > 0));
  EXPECT_EQ(uniform.sizes(), at::IntArrayRef({5}));
  EXPECT_EQ(normal.sizes(), at::IntArrayRef({2, 3}));
  EXPECT_FALSE(uniform.requires_grad());
}

/// A captured tensor that a call has written to has a history then, which it did not have in the call.
TEST(HigherOrder, AfterAWriteToACapturedTensor) {
  const auto derivatives = [](bool compiled, bool view) {
    auto state = view ? torch::full({5}, 0.5).slice(0, 1, 5, 2) : torch::full({2}, 0.5),
         x = torch::full({2}, 0.25).requires_grad_();
    const auto function = [state](const Tensor& x) {
      state.sin_();
      const auto y = x.exp();
      state.add_(y);
      return y * y;
    };
    const auto out = compiled ? compile(function)(x) : function(x);
    const auto first = torch::autograd::grad({out.sum()}, {x}, {}, true, /*create_graph=*/true)[0];
    const auto second = torch::autograd::grad({first.sum()}, {x}, {}, true)[0];
    EXPECT_TRUE(state.requires_grad());
    const auto of_state = torch::autograd::grad({state.sum()}, {x})[0];
    return Tensors{out.detach(), first.detach(), second, state.detach(), of_state};
  };
  for (const bool view : {false, true}) {
    const auto eager = derivatives(false, view), compiled = derivatives(true, view);
    for (size_t i = 0; i < eager.size(); ++i) EXPECT_TRUE(at::allclose(eager[i], compiled[i])) << i;
  }
}

TEST(RandomInTraining, NothingRandomNothingAdded) {  // RNG-05
  auto compiled = compile([](const Tensor& x) { return x.sin(); });
  compiled(leaf({3}));
  EXPECT_EQ(compiled.signature().find("random state"), std::string::npos) << compiled.signature();
  EXPECT_EQ(compiled.forward_graph().find("rng"), std::string::npos);
  auto random = compile([](const Tensor& x) { return at::dropout(x, 0.5, true); });
  random(leaf({3}));
  EXPECT_NE(random.signature().find("random state"), std::string::npos) << random.signature();
}

TEST(RandomInTraining, RandomizedLeakyRelu) {  // RNG-07
  TrainingOptions options;
  options.compile.rng = Rng::Eager;
  trained_like_eager([](const Tensor& a) { return at::rrelu(a * 2, 0.1, 0.3, true); }, one_leaf, options);
  trained_like_eager(
      [](const Tensor& a) {
        auto b = a * 2;
        at::rrelu_(b, 0.1, 0.3, true);
        return b.sin();
      },
      one_leaf, options);
  trained_like_eager(
      [](const Tensor& a, Tensor noise) { return at::rrelu_with_noise(a, noise, 0.1, 0.3, true); },
      [] {
        return std::tuple(leaf({3, 4}), torch::zeros({3, 4}));
      },
      options);
}

TEST(RandomInTraining, RandomNumbersInABackward) {
  struct NoisyGradient : torch::autograd::Function<NoisyGradient> {
    static Tensor forward(torch::autograd::AutogradContext*, const Tensor& x) { return x * 2; }
    static torch::autograd::variable_list backward(torch::autograd::AutogradContext*,
                                                   const torch::autograd::variable_list& grads) {
      return {grads[0] + torch::rand_like(grads[0])};
    }
  };
  auto compiled = compile([](const Tensor& x) { return NoisyGradient::apply(x); });
  auto a = torch::zeros({16}).requires_grad_();
  compiled(a).sum().backward();
  const auto first = a.grad().clone();
  EXPECT_TRUE((first >= 1).all().item<bool>());
  EXPECT_FALSE(first.equal(torch::ones({16})));
  a.mutable_grad() = Tensor();
  compiled(a).sum().backward();
  EXPECT_FALSE(first.equal(a.grad()));
}

}  // namespace
}  // namespace antegrad::test
