// All kinds of arguments and captured tensors that gradients flow to.
#include "support/training_like_eager.h"

namespace antegrad::test {
namespace {

using at::Tensor;

auto doubled_sine() {
  return [](const Tensor& a) { return (a.sin() * 2).sum(); };
}

TEST(InputKinds, ViewsOfLeavesAndActivations) {
  trained_like_eager(doubled_sine(), [] { return std::tuple(leaf({3, 4}).t()); });
  trained_like_eager(doubled_sine(), [] { return std::tuple(leaf({6, 4}).slice(0, 0, 6, 2)); });
  trained_like_eager(doubled_sine(), [] { return std::tuple(activation({3, 4}).select(1, 2)); });
  trained_like_eager(doubled_sine(), [] { return std::tuple(leaf({1, 4}).expand({3, 4})); });
}

TEST(InputKinds, TwoViewsOfOneLeaf) {
  trained_like_eager([](const Tensor& a, const Tensor& b) { return a * b.sin(); },
                     [] {
                       auto whole = leaf({5});
                       return std::tuple(whole.slice(0, 0, 3), whole.slice(0, 2, 5));
                     });
}

TEST(InputKinds, EmptyAndScalar) {
  trained_like_eager(doubled_sine(), [] { return std::tuple(leaf({0, 4})); });
  trained_like_eager(doubled_sine(), [] { return std::tuple(leaf({})); });
}

TEST(InputKinds, OfSeveralTypes) {
  trained_like_eager([](const Tensor& a, const Tensor& b) { return a.to(at::kDouble) * b; },
                     [] { return std::tuple(leaf({3}), torch::randn({3}, at::kDouble).requires_grad_()); });
  trained_like_eager([](const Tensor& a, const Tensor& index) { return a.index_select(0, index).exp(); },
                     [] {
                       return std::tuple(leaf({3}), torch::tensor({2, 0, 2}));
                     });
  trained_like_eager([](const Tensor& a) { return a.to(at::kBFloat16).exp(); }, one_leaf);
}

TEST(InputKinds, Undefined) {
  trained_like_eager([](const Tensor& a, const Tensor& bias) { return bias.defined() ? a + bias : a * 2; },
                     [] { return std::tuple(leaf({3}), Tensor()); });
}

TEST(InputKinds, OneTensorTwiceAndWritten) {
  trained_like_eager(
      [](const Tensor& a, const Tensor& b) {
        a.mul_(2);
        return a.sin() + b;
      },
      [] {
        auto x = activation({3});
        return std::tuple(x, x);
      });
}

TEST(InputKinds, ArgumentAndCapturedAtOnce) {
  auto w = leaf({3});
  auto function = [w](const Tensor& x) { return (x.sin() * w).sum(); };
  auto compiled = compile(function);
  auto expected = torch::autograd::grad({function(w)}, {w})[0];
  for (int call = 0; call < 2; ++call)
    EXPECT_TRUE(torch::autograd::grad({compiled(w)}, {w})[0].allclose(expected));
}

TEST(InputKinds, CapturedActivations) {
  auto w = leaf({3});
  auto grown = w.exp();
  auto compiled = compile([grown](const Tensor& x) { return (x * grown).sum(); });
  auto x = torch::ones({3});
  compiled(x).backward({}, /*retain_graph=*/true);
  compiled(x).backward();
  EXPECT_TRUE(w.grad().equal(2 * grown.detach()));
  EXPECT_NE(thrown_by([&] { compiled(x).backward(); }).find("backward through the graph a second time"),
            std::string::npos);
}

TEST(InputKinds, CapturedLeafAsTheResult) {
  auto net = [] {
    auto w = leaf({3});
    return std::pair([w](const Tensor& x) { return std::tuple(w, x * w); }, Tensors{w});
  };
  trained_with_state_like_eager(net, [] { return std::tuple(torch::randn({3})); });
}

TEST(InputKinds, FrozenParameters) {
  auto net = [] {
    auto w = torch::randn({4, 4});
    auto b = leaf({4});
    return std::pair([w, b](const Tensor& x) { return at::addmm(b, x, w).relu(); }, Tensors{w, b});
  };
  trained_with_state_like_eager(net, one_leaf);
}

TEST(InputKinds, FrozenBetweenSteps) {
  auto w = leaf({3});
  auto compiled = compile([w](const Tensor& x) { return (x * w).sum(); });
  auto x = leaf({3});
  compiled(x).backward();
  w.set_requires_grad(false);
  w.mutable_grad() = Tensor();
  compiled(x).backward();
  EXPECT_FALSE(w.grad().defined());
  w.set_requires_grad(true);
  compiled(x).backward();
  EXPECT_TRUE(w.grad().defined());
}

TEST(InputKinds, OneOfSeveralResultsOfAnOp) {
  trained_like_eager([](const Tensor& a) { return std::get<0>(a.max(1)); }, one_leaf);
  trained_like_eager([](const Tensor& a) { return a.topk(2); }, one_leaf);
  trained_like_eager([](const Tensor& a) { return std::get<1>(at::var_mean(a, 1)); }, one_leaf);
}

TEST(InputKinds, DetachedInPlaceInside) {
  trained_like_eager(
      [](const Tensor& a) {
        auto b = a * 2;
        b.detach_();
        return b + a;
      },
      one_leaf);
}

TEST(InputKinds, ArgumentsDetachedInPlace) {
  const auto activation_and_leaf = [] { return std::tuple(activation({3, 4}), leaf({3, 4})); };
  trained_like_eager([](const Tensor& a, const Tensor& b) { return a.detach_() * b; }, activation_and_leaf);
  trained_like_eager([](const Tensor& a, const Tensor& b) { return a.detach_() * b; }, two_leaves);
  trained_like_eager(
      [](const Tensor& a, const Tensor& b) {
        auto before = a.exp() + b;
        a.detach_();
        return std::tuple(before, a.sin() * b, a);
      },
      activation_and_leaf);
  trained_like_eager(
      [](const Tensor& a, const Tensor& b) {
        auto before = a.exp();
        a.mul_(b).detach_();
        return std::tuple(before * b, a);
      },
      activation_and_leaf, backward_of_outputs_and_inputs);
  trained_like_eager(
      [](const Tensor& a, const Tensor& b) {
        auto before = a.exp() * b;
        a.detach_();
        return before;
      },
      activation_and_leaf,
      [](const Scene& scene) {
        const auto& b = scene.inputs[1];
        auto gradient = torch::autograd::grad({scene.outputs[0]}, {b}, {torch::ones({3, 4})}, true, true)[0];
        gradient.square().sum().backward();
      });
  trained_like_eager([](const Tensor& a, const Tensor& b) { return a.detach_() * b; },  // refused: a view
                     [] {
                       return std::tuple(activation({3, 4}).slice(1, 0, 4), leaf({3, 4}));
                     },
                     nothing);
}

/// What was saved is gone for LibTorch.
TEST(InputKinds, ArgumentsDetachedInPlaceAfterTheyWereSaved) {
  trained_like_eager(
      [](const Tensor& a) {
        auto y = a.sin();
        a.detach_();
        return y;
      },
      one_activation);
}

/// The compiled backward pass may read the argument where eager's reads a result.
TEST(InputKinds, ArgumentsDetachedInPlaceAreGuardedAgainstWrites) {
  Options options;
  options.policy = RecomputeAll{};
  auto compiled = compile(
      [](const Tensor& a) {
        auto y = a.exp();
        a.detach_();
        return y;
      },
      options);
  for (int call = 0; call < 2; ++call) {
    auto x = leaf({3});
    auto a = x * 2;
    auto y = compiled(a);
    EXPECT_FALSE(a.requires_grad());
    auto first = torch::autograd::grad({y.sum()}, {x}, {}, true, true)[0];
    EXPECT_TRUE(first.allclose((x * 2).exp() * 2));
    first.sum().backward();
    EXPECT_TRUE(x.grad().allclose((x * 2).exp() * 4));
    y = compiled(a = x * 2);
    a.add_(1);
    EXPECT_THROW(y.sum().backward(), c10::Error);
  }
}

TEST(InputKinds, EmbeddingTables) {
  trained_like_eager([](const Tensor& table, const Tensor& rows) { return at::embedding(table, rows).sin(); },
                     [] {
                       return std::tuple(leaf({5, 3}), torch::tensor({1, 4, 1}));
                     });
}

TEST(InputKinds, ModulesWithSharedParameters) {
  auto net = [] {
    torch::nn::Linear layer(4, 4);
    return std::pair(
        [layer](const Tensor& x) {
          auto l = layer;
          return l->forward(l->forward(x).tanh());
        },
        Tensors{layer->weight, layer->bias});
  };
  trained_with_state_like_eager(net, one_leaf);
}

TEST(InputKinds, ParameterReplacedByItsTranspose) {
  auto net = [] {
    auto w = leaf({4, 3});
    return std::pair([w](const Tensor& x) { return at::mm(x, w) + at::mm(x, w.t().t()).sum(); }, Tensors{w});
  };
  trained_with_state_like_eager(net, one_leaf);
}

}  // namespace
}  // namespace antegrad::test
