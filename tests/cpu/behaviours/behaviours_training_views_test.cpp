// Results that are views, detached, integers or leaves, and what may be done with them.
#include "support/training_like_eager.h"

namespace antegrad::test {
namespace {

using at::Tensor;

/// Writes to every result that requires a gradient, with grad mode on, and calls backward().
void mutate_and_backward(const Scene& s) {
  for (size_t i = 0; i < s.outputs.size(); ++i)
    if (s.outputs[i].requires_grad() && !s.outputs[i].is_leaf())
      s.outputs[i].mul_(static_cast<double>(i) + 2);
  backward_of_outputs(s);
}

template <class F, class Make>
void trained_and_mutated(const F& function, const Make& make) {
  trained_like_eager(function, make);
  trained_like_eager(function, make, mutate_and_backward);
}

TEST(ViewsInTraining, OfAnInput) {  // ALI-21, ALI-27
  trained_and_mutated([](const Tensor& a) { return a.view({-1}); }, one_activation);
  trained_and_mutated([](const Tensor& a) { return a.t().select(0, 1); }, one_activation);
  trained_like_eager([](const Tensor& a) { return a.t(); }, one_leaf);
  trained_like_eager([](const Tensor& a) { return a.t(); }, one_leaf, mutate_and_backward);  // eager refuses
}

/// LibTorch's product of a vector and a matrix changes the shape of its result in place.
TEST(ViewsInTraining, OfAProductOfAVector) {
  trained_and_mutated(
      [](const Tensor& a, const Tensor& b) {
        return at::matmul(a, b).view({2, 2});
      },
      [] {
        return std::tuple(leaf({3}), leaf({3, 4}));
      });
  trained_and_mutated(
      [](const Tensor& a, const Tensor& b) {
        auto product = at::matmul(a, b);
        return std::tuple(product.view({2, 2}), product, at::mm(a.unsqueeze(0), b));
      },
      [] {
        return std::tuple(leaf({3}), leaf({3, 4}));
      });
}

TEST(ViewsInTraining, OfATensorThatIsRearrangedInPlace) {
  trained_and_mutated([](const Tensor& a) { return a.sin().t_().select(0, 1); }, one_leaf);
  trained_and_mutated(
      [](const Tensor& a) {
        auto y = a.sin().unsqueeze_(1);
        y.mul_(2);
        return std::tuple(y.squeeze(1), y.transpose(0, 2) * 3);
      },
      one_leaf);
  trained_and_mutated(
      [](const Tensor& a) {
        auto y = a.sin();
        y.t_();
        return std::tuple(y, y.t(), a.sin());
      },
      one_leaf);
  trained_like_eager(
      [](const Tensor& a) {
        auto y = a.sin();
        const auto before = y.view({-1});
        y.t_();
        return std::tuple(y, before * 2);
      },
      one_leaf);
}

TEST(ViewsInTraining, OfAnInputBesideAComputedValue) {  // ALI-21, SUB-15
  trained_and_mutated([](const Tensor& a) { return std::tuple(a.view({-1}), a * 2); }, one_activation);
}

TEST(ViewsInTraining, TheInputItself) {
  trained_like_eager([](const Tensor& a) { return a; }, one_leaf);
  trained_and_mutated([](const Tensor& a, const Tensor& b) { return std::tuple(b, a * b, a); },
                      two_activations);
}

TEST(ViewsInTraining, OfMutatedInputs) {  // ALI-22, ALI-23
  trained_and_mutated(
      [](const Tensor& a, const Tensor& b) {
        a.mul_(2);
        return std::tuple(a.view({-1}), b.t());
      },
      two_activations);
}

TEST(ViewsInTraining, OfACapturedParameter) {
  auto net = [] {
    auto w = leaf({3, 4});
    return std::pair([w](const Tensor& x) { return std::tuple(w.t(), x * w); }, Tensors{w});
  };
  trained_with_state_like_eager(net, one_leaf);
}

TEST(ViewsInTraining, SomeDetached) {  // ALI-25
  trained_like_eager([](const Tensor& a) { return std::tuple(a.detach().view({-1}), a.view({-1})); },
                     one_activation);
  trained_like_eager([](const Tensor& a) { return std::tuple((a * 2).detach(), a * 2); }, one_leaf);
  trained_like_eager(
      [](const Tensor& a) {
        auto b = a.sin();
        return std::tuple(b.detach(), b);
      },
      one_leaf);
}

TEST(ViewsInTraining, RequiresGradSetOnAViewOfData) {  // ALI-26
  trained_like_eager(
      [](const Tensor& a, const Tensor& b) { return std::tuple(a.detach().requires_grad_(), a * b); },
      [] { return std::tuple(torch::randn({3}), leaf({3})); });
}

TEST(ViewsInTraining, OneOfAnIntermediate) {  // ALI-29, ALI-27
  trained_and_mutated([](const Tensor& a) { return a.sin().view({-1}); }, one_leaf);
  trained_and_mutated([](const Tensor& a) { return (a * 2).t().select(0, 0).unsqueeze(0); }, one_leaf);
}

TEST(ViewsInTraining, SeveralOfAnIntermediate) {  // ALI-30, ALI-27
  trained_and_mutated(
      [](const Tensor& a) {
        auto b = a * 2;
        return std::tuple(b.view({-1}), b.t());
      },
      one_leaf);
}

TEST(ViewsInTraining, AndTheIntermediateItself) {  // ALI-31, ALI-27
  trained_and_mutated(
      [](const Tensor& a) {
        auto b = a * 2;
        return std::tuple(b, b.view({-1}));
      },
      one_leaf);
  trained_and_mutated(
      [](const Tensor& a) {
        auto b = a * 2;
        return std::tuple(b.view({-1}), b);
      },
      one_leaf);
}

TEST(ViewsInTraining, AndADetachedAlias) {  // ALI-32
  trained_and_mutated(
      [](const Tensor& a) {
        auto b = a * 2;
        return std::tuple(b, b.view({-1}), b.detach(), b.detach().t());
      },
      one_leaf);
}

TEST(ViewsInTraining, OfManyAtOnce) {
  auto function = [](const Tensor& a) { return (a * 2).unbind(); };
  trained_like_eager(function, one_leaf);
  trained_like_eager(function, one_leaf, mutate_and_backward);  // eager refuses
  trained_like_eager([](const Tensor& a) { return a.split(1); }, one_activation);
}

TEST(ViewsInTraining, OfEveryKind) {  // ALI-33
  trained_and_mutated(
      [](const Tensor& a, const Tensor& b) {
        auto c = a * b;
        b.add_(1);
        return std::tuple(a.t(), c.view({-1}), c.select(0, 0), b.t(), c.sum());
      },
      two_activations);
}

TEST(ViewsInTraining, OfAnotherOutput) {  // ALI-34
  trained_like_eager(
      [](const Tensor& a) {
        auto b = a.sin() * 2;
        return std::tuple(b, b.t());
      },
      one_leaf,
      [](const Scene& s) {
        s.outputs[0].mul_(3);
        s.outputs[1].exp().sum().backward();
      });
}

TEST(ViewsInTraining, MadeUnderNoGrad) {
  auto function = [](const Tensor& a) {
    auto b = a * 2;
    at::NoGradGuard no_grad;
    return std::tuple(b, b.t(), a.view({-1}));
  };
  trained_like_eager(function, one_activation);
  trained_like_eager(function, one_activation, [](const Scene& s) { s.outputs[1].mul_(2); });
}

TEST(ViewsInTraining, RealAndImaginaryParts) {
  trained_and_mutated([](const Tensor& a) { return at::view_as_real(at::complex(a, a * 2)); }, one_leaf);
}

TEST(ViewsInTraining, OneTensorTwice) {
  trained_like_eager(
      [](const Tensor& a) {
        auto b = a.exp();
        return std::tuple(b, b, b * 2);
      },
      one_leaf);
}

// --- results without gradients

TEST(Outputs, IntegersAndBools) {
  trained_like_eager([](const Tensor& a) { return std::tuple(a.argmax(1), a > 0, a.max(), a.to(at::kLong)); },
                     one_leaf);
}

TEST(Outputs, Undefined) {
  trained_like_eager([](const Tensor& a) { return std::tuple(Tensor(), a * 2); }, one_leaf);
}

TEST(Outputs, ThatDoNotDependOnTheInput) {
  trained_like_eager([](const Tensor& a) { return std::tuple(torch::ones({2}), a.sin()); }, one_leaf);
}

TEST(Outputs, MadeUnderNoGradAndEnableGrad) {  // CAP-27
  auto function = [](const Tensor& a) {
    at::NoGradGuard no_grad;
    auto without = a.sin();
    at::AutoGradMode enable(true);
    return std::tuple(without, a.cos());
  };
  trained_like_eager(function, one_leaf);
  at::NoGradGuard no_grad;
  TrainingOptions options;
  options.finish = [](const Scene& s) {
    at::AutoGradMode enable(true);
    s.outputs[1].sum().backward();
  };
  trained_like_eager(function, one_leaf, options);
}

/// The gradient of a view of such a tensor does not flow through the tensor's own gradient, which has its
/// last shape.
TEST(Outputs, WhoseShapeWasChangedInPlace) {
  using All = std::vector<Tensor>;
  TrainingOptions options;
  options.same_views = false;
  const auto check = [&](auto function) {
    trained_like_eager(
        function,
        [] {
          return std::tuple(leaf({3, 3}));
        },
        options);
    trained_like_eager(
        function,
        [] {
          return std::tuple(activation({3, 3}));
        },
        options);
  };
  check([](const Tensor& x) {
    auto y = x * 2;
    y.t_();
    return y;
  });
  check([](const Tensor& x) {
    auto y = x * 2;
    y.t_();
    return All{y, y[0]};
  });
  check([](const Tensor& x) {
    auto y = x * 2;
    auto before = y[0];
    y.transpose_(0, 1);
    return All{y, before, y[0], y.t()};
  });
  check([](const Tensor& x) {
    auto y = x.sum(1, true).view({-1, 1});
    y.squeeze_(1);
    return y;
  });
  check([](const Tensor& x) {
    auto y = x.sum(1, true);
    y.squeeze_(1);
    return All{y, y[0]};
  });
  check([](const Tensor& x) {
    auto y = x.view({3, 3});
    y.t_();
    return All{y, y[0], x.view({9})};
  });
  check([](const Tensor& x) {
    auto y = x.view({9, 1});
    y.squeeze_(1);
    y.unsqueeze_(1);
    return All{y.squeeze(1), y * 2};
  });
  check([](const Tensor& x) {
    auto base = x * 1;
    auto y = base.view({9});
    y.unsqueeze_(0);
    return All{y, base, base.view({1, 9, 1})};
  });
  check([](const Tensor& x) {
    auto base = x * 1;
    auto y = base.view({3, 3});
    y.t_();
    y[0].mul_(2);
    return All{y, base, base.view({9, 1})};
  });
}

TEST(Outputs, ViewsOfATensorThatWasDetachedAfterwards) {
  trained_like_eager(
      [](const Tensor& x) {
        auto y = x * 2;
        auto view = y.view({-1});
        y.detach_();
        return view;
      },
      one_leaf, TrainingOptions{.same_views = false});
  trained_like_eager(
      [](const Tensor& x) {
        auto y = x * 2;
        auto view = y.narrow(0, 1, 2);
        y.detach_();
        return std::vector<Tensor>{view, y, y * x};
      },
      one_activation, TrainingOptions{.same_views = false});
}

TEST(Outputs, NoGradRegionsCutTheGraph) {
  trained_like_eager(
      [](const Tensor& a, const Tensor& b) {
        Tensor scale;
        {
          at::NoGradGuard no_grad;
          scale = (a * a).sum().rsqrt();
        }
        return a * scale + b.detach();
      },
      two_leaves);
}

TEST(Outputs, UnderInferenceMode) {
  auto compiled = compile([](const Tensor& a) { return a.sin(); });
  auto a = leaf({3});
  {
    c10::InferenceMode inference;
    EXPECT_TRUE(compiled(a).is_inference());
  }
  EXPECT_TRUE(compiled(a).requires_grad());
}

TEST(Outputs, CustomStridesOfGradients) {
  trained_like_eager([](const Tensor& a) { return a.t().contiguous().exp(); }, one_leaf);
  trained_like_eager([](const Tensor& a) { return a.t().contiguous() * 2; },
                     [] {
                       return std::tuple(torch::randn({4, 3}).t().requires_grad_());
                     });
}

// PAR-06
TEST(Outputs, SizesAmongTensorsGetNoTangents) {
  auto compiled = compile([](const Tensor& a) {
    return std::tuple(a.size(0), a.sin(), a.size(1), a.exp().sum(), std::string("done"));
  });
  auto a = leaf({3, 4});
  const auto [rows, first, columns, second, text] = compiled(a);
  EXPECT_EQ(rows, 3);
  EXPECT_EQ(columns, 4);
  EXPECT_EQ(text, "done");
  (first.sum() + second).backward();
  EXPECT_TRUE(torch::allclose(a.grad(), (a.cos() + a.exp()).detach()));
  const auto graph = compiled.backward_graph();
  EXPECT_NE(graph.find("tangent1"), std::string::npos);
  EXPECT_EQ(graph.find("tangent2"), std::string::npos);
}

}  // namespace
}  // namespace antegrad::test
