// What backward() and grad() may be asked for: retained graphs, some outputs, some inputs, tangents of any
// layout.
#include "support/seeds.h"
#include "support/training_like_eager.h"

namespace antegrad::test {
namespace {

using at::Tensor;

/// Its backward pass reads both inputs.
auto product() {
  return [](const Tensor& a, const Tensor& b) { return (a * b).tanh().sum(); };
}
/// The first output depends only on `a`, the second only on `b`, the third on both.
auto three_outputs() {
  return [](const Tensor& a, const Tensor& b) { return std::tuple(a.sin(), b.exp(), a * b); };
}
auto nth_output(size_t n) {
  return [n](const Scene& s) { s.outputs[n].backward(torch::ones_like(s.outputs[n])); };
}

TEST(Backward, OfALeafAndOfAnActivation) {
  trained_like_eager(product(), two_leaves);
  trained_like_eager(product(), two_activations);
  trained_like_eager(product(), [] { return std::tuple(leaf({3, 4}), torch::randn({3, 4})); });
}

TEST(Backward, HistoryIsNamed) {
  auto out = compile(product())(leaf({2}), leaf({2}));
  ASSERT_TRUE(out.grad_fn());
  EXPECT_EQ(out.grad_fn()->name(), "AntegradBackward");
}

TEST(Backward, RepeatedOnAKeptGraph) {
  trained_like_eager(product(), two_leaves, [](const Scene& s) {
    s.outputs[0].backward({}, /*retain_graph=*/true);
    s.outputs[0].backward({}, /*retain_graph=*/true);
    s.outputs[0].backward();
  });
}

TEST(Backward, RepeatedOnAFreedGraphThrows) {
  trained_like_eager(product(), two_leaves, [](const Scene& s) {
    s.outputs[0].backward();
    s.outputs[0].backward();
  });
  auto out = compile(product())(leaf({2}), leaf({2}));
  out.backward();
  EXPECT_NE(thrown_by([&] { out.backward(); }).find("Trying to backward through the graph a second time"),
            std::string::npos);
  EXPECT_THROW(out.backward(), c10::Error);
}

TEST(Backward, KeptThenFreedThenThrows) {
  trained_like_eager(product(), two_leaves, [](const Scene& s) {
    s.outputs[0].backward({}, /*retain_graph=*/true);
    s.outputs[0].backward();
    s.outputs[0].backward();
  });
}

TEST(Backward, RepeatedWhereNothingIsSaved) {
  trained_like_eager([](const Tensor& a) { return (a * 2).sum(); }, one_leaf,
                     [](const Scene& s) {
                       s.outputs[0].backward();
                       s.outputs[0].backward();
                     });
}

// --- some outputs

TEST(SomeOutputs, LeaveOtherGradientsUndefined) {
  for (size_t n = 0; n < 3; ++n) trained_like_eager(three_outputs(), two_leaves, nth_output(n));
  auto a = leaf({2});
  auto b = leaf({2});
  std::get<0>(compile(three_outputs())(a, b)).sum().backward();
  EXPECT_TRUE(a.grad().defined());
  EXPECT_FALSE(b.grad().defined());
}

TEST(SomeOutputs, OneAfterTheOther) {
  trained_like_eager(three_outputs(), two_leaves, [](const Scene& s) {
    s.outputs[0].sum().backward({}, /*retain_graph=*/true);
    s.outputs[2].sum().backward({}, /*retain_graph=*/true);
    s.outputs[1].sum().backward();
  });
}

TEST(SomeOutputs, ADroppedOutputIsNoMatter) {
  auto a = leaf({3});
  auto kept = std::get<2>(compile(three_outputs())(a, torch::ones({3})));
  kept.sum().backward();
  EXPECT_TRUE(a.grad().equal(torch::ones({3})));
}

TEST(SomeOutputs, UndefinedGradientsFromACustomFunction) {
  struct DropsGradients : torch::autograd::Function<DropsGradients> {
    static Tensor forward(torch::autograd::AutogradContext*, const Tensor& x) { return x * 1; }
    static torch::autograd::variable_list backward(torch::autograd::AutogradContext*,
                                                   const torch::autograd::variable_list&) {
      return {Tensor()};
    }
  };
  trained_like_eager(
      [](const Tensor& a, const Tensor& b) { return std::tuple(a.sin(), b.sin()); }, two_leaves,
      [](const Scene& s) { (DropsGradients::apply(s.outputs[0]) + s.outputs[1]).sum().backward(); });
}

/// Returns {x * x, y, x * z}. Autograd calls its backward pass with zeros for results that have no gradient.
struct ThreeResults : torch::autograd::Function<ThreeResults> {
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context, const Tensor& x,
                                                const Tensor& y, const Tensor& z) {
    context->save_for_backward({x, z});
    return {x * x, y.clone(), x * z};
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    return {gradients[0] * saved[0] * 2 + gradients[2] * saved[1], gradients[1], gradients[2] * saved[0]};
  }
};

TEST(SomeOutputs, ZerosForOthersOfACustomFunction) {
  for (size_t n : {0, 1, 2})
    trained_like_eager(
        [](const Tensor& a, const Tensor& b) {
          auto results = ThreeResults::apply(a.sin(), b, b.exp());
          return std::tuple(results[0].cos(), results[1], results[2]);
        },
        two_leaves, [n](const Scene& s) { s.outputs[n].sum().backward(); });
}

TEST(SomeOutputs, ZerosForOneAloneOfACustomFunction) {  // y and z have a gradient of zeros
  const auto function = [](const Tensor& x, const Tensor& y, const Tensor& z) {
    auto results = ThreeResults::apply(x, y, z * 2);
    return std::tuple(results[0], results[1] + 1, results[2]);
  };
  const auto make = [] { return std::tuple(leaf({3}), leaf({4}), leaf({3})); };
  trained_like_eager(function, make, [](const Scene& s) { s.outputs[0].sum().backward(); });
  trained_like_eager(function, make, [](const Scene& s) { s.outputs[1].sum().backward(); });
  trained_like_eager(function, make, backward_of_outputs);
  trained_like_eager(function, make, [](const Scene& s) {
    const auto gradients = torch::autograd::grad({s.outputs[2].sum()}, {s.inputs[1], s.inputs[2]});
    s.inputs[0].mutable_grad() = gradients[0].sum() + gradients[1];
  });
}

// --- some inputs

TEST(SomeInputs, OfBackward) {
  for (size_t n : {0, 1})
    trained_like_eager(product(), two_leaves, [n](const Scene& s) {
      s.outputs[0].backward({}, /*retain_graph=*/false, /*create_graph=*/false, Tensors{s.inputs[n]});
    });
}

TEST(SomeInputs, OfGradAndThenAll) {
  trained_like_eager(product(), two_activations, [](const Scene& s) {
    auto one = torch::autograd::grad({s.outputs[0]}, {s.inputs[1]}, {}, /*retain_graph=*/true)[0];
    s.outputs[0].backward(one.sum().detach());
  });
}

TEST(SomeInputs, UnusedOnes) {
  auto first = [](const Tensor& a, const Tensor& b) { return a.exp(); };
  trained_like_eager(first, two_leaves);
  trained_like_eager(first, two_leaves,
                     [](const Scene& s) { torch::autograd::grad({s.outputs[0].sum()}, {s.inputs[1]}); });
  auto inputs = two_leaves();
  auto out = std::apply(compile(first), inputs).sum();
  auto got = torch::autograd::grad({out}, {std::get<0>(inputs), std::get<1>(inputs)}, {}, {}, {},
                                   /*allow_unused=*/true);
  EXPECT_TRUE(got[0].defined());
  EXPECT_FALSE(got[1].defined());
}

TEST(SomeInputs, OneTensorTwice) {  // CAP-04
  trained_like_eager([](const Tensor& a, const Tensor& b) { return a.sin() * b; },
                     [] {
                       auto x = leaf({3, 4});
                       return std::tuple(x, x);
                     });
}

TEST(SomeInputs, EveryChoiceOfRequiresGrad) {  // CAP-24
  for (int choice = 0; choice < 4; ++choice)
    trained_like_eager(
        three_outputs(),
        [choice] {
          return std::tuple(torch::randn({3, 4}).requires_grad_((choice & 1) != 0),
                            torch::randn({3, 4}).requires_grad_((choice & 2) != 0));
        },
        [](const Scene& s) {
          if (!that_require_grad(s.outputs).empty()) backward_of_outputs(s);
        });
}

// --- tangents of any layout

TEST(Tangents, OfAnyLayout) {
  auto forward = [](const Tensor& a) { return a.view({3, 2, 2}).transpose(0, 1).sin() * 2; };
  const std::vector<std::function<Tensor(const Tensor&)>> layouts = {
      [](const Tensor& like) { return torch::ones({1}).expand_as(like); },
      [](const Tensor& like) {
        return torch::arange(12.0F).view({2, 2, 3}).transpose(1, 2);
      },
      [](const Tensor& like) {
        return torch::arange(24.0F).view({2, 3, 4}).slice(2, 0, 4, 2);
      },
      [](const Tensor& like) {
        return torch::randn({1, 3, 1}).expand_as(like);
      },
      [](const Tensor& like) {
        return torch::_neg_view(torch::arange(12.0F).view({2, 3, 2}));
      },
  };
  for (const auto& layout : layouts)
    trained_like_eager(forward, one_leaf, [&](const Scene& s) {
      test::manual_seed(3);
      s.outputs[0].backward(layout(s.outputs[0]));
    });
}

TEST(Tangents, AreNotWritten) {
  auto tangent = torch::ones({3});
  auto a = leaf({3});
  auto out = compile([](const Tensor& x) { return x * 2; })(a);
  out.backward(tangent, /*retain_graph=*/true);
  out.backward(tangent);
  EXPECT_TRUE(tangent.equal(torch::ones({3})));
  EXPECT_TRUE(a.grad().equal(torch::full({3}, 4.0F)));
}

TEST(Tangents, OfChannelsLastOutputs) {  // SUB-12
  trained_like_eager(
      [](const Tensor& x, const Tensor& w) { return at::conv2d(x, w).relu(); },
      [] {
        return std::tuple(
            torch::randn({2, 3, 5, 5}).contiguous(at::MemoryFormat::ChannelsLast).requires_grad_(),
            leaf({4, 3, 3, 3}));
      });
}

TEST(Tangents, OfAnExpandedOutput) {  // SUB-13
  trained_like_eager([](const Tensor& a) { return a.exp().sum(0).expand({3, 4}); }, one_leaf);
  trained_like_eager(
      [](const Tensor& a) {
        return a.exp().sum(0, true).expand({3, 4}).unbind()[1];
      },
      one_leaf);
}

TEST(Tangents, ComplexNumbers) {  // CAP-14
  trained_like_eager([](const Tensor& a,
                        const Tensor& w) { return at::linear(a, w).sum().abs() + at::imag(a.conj()).sum(); },
                     [] {
                       return std::tuple(torch::randn({3, 4}, at::kComplexFloat).requires_grad_(),
                                         torch::randn({2, 4}, at::kComplexFloat).requires_grad_());
                     });
}

TEST(Tangents, LazilyConjugated) {
  trained_like_eager([](const Tensor& a) { return a * a; },
                     [] { return std::tuple(torch::randn({3}, at::kComplexFloat).requires_grad_()); },
                     [](const Scene& s) {
                       test::manual_seed(3);
                       s.outputs[0].backward(torch::randn({3}, at::kComplexFloat).conj());
                     });
}

// --- .grad

TEST(Accumulation, IntoExistingGradients) {
  auto forward = compile(product());
  auto a = leaf({3});
  auto b = leaf({3});
  forward(a, b).backward();
  const auto memory = a.grad().data_ptr();
  const auto once = a.grad().clone();
  forward(a, b).backward();
  EXPECT_EQ(a.grad().data_ptr(), memory);
  EXPECT_TRUE(a.grad().equal(once * 2));
  EXPECT_EQ(forward.report().captures, 1U);
}

TEST(Accumulation, OverSeveralCalls) {
  auto net = [] {
    auto w = leaf({4, 4});
    return std::pair([w](const Tensor& x) { return at::mm(x, w).tanh().sum(); }, Tensors{w});
  };
  trained_with_state_like_eager(net, [] { return std::tuple(torch::randn({3, 4})); });
}

TEST(Accumulation, GradientsOfTwoLeavesShareNothing) {
  auto a = leaf({3});
  auto b = leaf({3});
  compile([](const Tensor& x, const Tensor& y) { return x + y; })(a, b).sum().backward();
  EXPECT_NE(a.grad().data_ptr(), b.grad().data_ptr());
}

TEST(Accumulation, OneCaptureWhileGradientsComeAndGo) {
  auto w = leaf({4});
  auto step = compile([&](const Tensor& x) { return (x * w).sin().sum(); });
  auto x = leaf({4});
  for (int i = 0; i < 3; ++i) {
    step(x).backward();
    if (i == 1) w.mutable_grad() = Tensor();
    if (i == 1) x.mutable_grad().zero_();
  }
  EXPECT_EQ(step.report().captures, 1U) << ::testing::PrintToString(step.report().recapture_reasons);
}

}  // namespace
}  // namespace antegrad::test
