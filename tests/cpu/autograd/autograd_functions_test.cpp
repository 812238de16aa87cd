// torch::autograd::Function, grad() and backward() inside compiled functions.
#include "support/training_like_eager.h"

namespace antegrad::test {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

/// Its backward is not its derivative, so that tests see which of the two ran.
struct Scaled : Function<Scaled> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, double by) {
    ctx->save_for_backward({x});
    ctx->saved_data["by"] = by;
    return x * by;
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    return {grads[0] * ctx->get_saved_variables()[0] * ctx->saved_data["by"].toDouble() * 10, Tensor()};
  }
};

TEST(CustomFunction, UsesItsOwnBackward) {
  auto function = [](const Tensor& a) { return Scaled::apply(a.sin(), 3.0).cos(); };
  trained_like_eager(function, one_leaf);
  trained_like_eager(function, one_activation);
}

TEST(CustomFunction, OnlyAsTheResult) {
  trained_like_eager([](const Tensor& a) { return Scaled::apply(a, 2.0); }, one_leaf);
}

TEST(CustomFunction, OnACapturedParameter) {
  auto net = [] {
    auto w = leaf({4});
    return std::pair([w](const Tensor& x) { return Scaled::apply(w, 2.0) * x; }, Tensors{w});
  };
  trained_with_state_like_eager(net, one_leaf);
}

struct ReturnsItsInput : Function<ReturnsItsInput> {
  static Tensor forward(AutogradContext*, const Tensor& x) { return x; }
  static variable_list backward(AutogradContext*, const variable_list& grads) { return {grads[0] * 7}; }
};

TEST(CustomFunction, ThatReturnsItsInput) {  // ALI-28
  trained_like_eager([](const Tensor& a) { return ReturnsItsInput::apply(a) * 2; }, one_leaf);
  trained_like_eager([](const Tensor& a) { return ReturnsItsInput::apply(a); }, one_leaf);
  trained_like_eager([](const Tensor& a) { return ReturnsItsInput::apply(a); }, one_activation);
  trained_like_eager([](const Tensor& a) { return ReturnsItsInput::apply(a.sin()); }, one_leaf);
}

struct ReturnsAView : Function<ReturnsAView> {
  static Tensor forward(AutogradContext*, const Tensor& x) { return x.t(); }
  static variable_list backward(AutogradContext*, const variable_list& grads) { return {grads[0].t() * 5}; }
};

TEST(CustomFunction, ThatReturnsAView) {
  trained_like_eager([](const Tensor& a) { return ReturnsAView::apply(a.exp()) * 2; }, one_leaf);
  trained_like_eager([](const Tensor& a) { return ReturnsAView::apply(a); }, one_leaf);
  trained_like_eager([](const Tensor& a) { return ReturnsAView::apply(a.exp()); }, one_leaf);
}

/// A reversible layer: the input that it passes through is a result of its own.
struct Coupling : Function<Coupling> {
  static variable_list forward(AutogradContext* ctx, const Tensor& a, const Tensor& b) {
    ctx->save_for_backward({a});
    return {a, b + a.sin()};
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto a = ctx->get_saved_variables()[0];
    return {grads[0] * 3 + grads[1] * a.cos(), grads[1]};
  }
};

/// Returns two parts of its argument.
struct Halves : Function<Halves> {
  static variable_list forward(AutogradContext*, const Tensor& x) {
    return {x.narrow(0, 0, 1), x.narrow(0, 1, 2)};
  }
  static variable_list backward(AutogradContext*, const variable_list& grads) {
    return {at::cat({grads[0] * 2, grads[1] * 5})};
  }
};

/// Returns a new tensor and a view of it.
struct WholeAndPart : Function<WholeAndPart> {
  static variable_list forward(AutogradContext*, const Tensor& x) {
    const auto whole = x.exp();
    return {whole, whole.select(0, 1)};
  }
  static variable_list backward(AutogradContext*, const variable_list& grads) {
    return {grads[0] * 2 + grads[1].unsqueeze(0) * 7};
  }
};

TEST(CustomFunction, OfSeveralResultsThatAreArgumentsOrViews) {
  const auto coupled = [](const Tensor& a, const Tensor& b) {
    const auto results = Coupling::apply(a, b);
    return std::vector<Tensor>{results[0], results[1]};
  };
  trained_like_eager(coupled, two_leaves);
  trained_like_eager(coupled, two_activations);
  trained_like_eager([](const Tensor& a) { return std::vector<Tensor>(Halves::apply(a)); }, one_leaf);
  trained_like_eager([](const Tensor& a) { return std::vector<Tensor>(Halves::apply(a.sin())); },
                     one_activation);
  trained_like_eager([](const Tensor& a) { return Halves::apply(a.sin())[1]; }, one_leaf);
  trained_like_eager([](const Tensor& a) { return Halves::apply(a.sin())[1] * 2; }, one_leaf);
  trained_like_eager([](const Tensor& a) { return std::vector<Tensor>(WholeAndPart::apply(a)); }, one_leaf);
}

struct DoublesInPlace : Function<DoublesInPlace> {
  static Tensor forward(AutogradContext* ctx, Tensor x) {
    {
      at::AutoDispatchBelowADInplaceOrView below;
      x.mul_(2);
    }
    ctx->mark_dirty({x});
    return x;
  }
  static variable_list backward(AutogradContext*, const variable_list& grads) { return {grads[0] * 9}; }
};

TEST(CustomFunction, ThatWritesItsInput) {
  trained_like_eager([](const Tensor& a) { return DoublesInPlace::apply(a * 1).sin(); }, one_leaf);
  trained_like_eager(
      [](const Tensor& a) {
        auto b = a.clone();
        DoublesInPlace::apply(b);
        return b;
      },
      one_leaf);
}

TEST(CustomFunction, ThatWritesAnArgument) {
  trained_like_eager([](const Tensor& a) { return DoublesInPlace::apply(a).exp(); }, one_activation);
  trained_like_eager([](const Tensor& a) { return DoublesInPlace::apply(a).exp(); },
                     [] { return std::tuple(torch::randn({3})); }, nothing);
}

TEST(CustomFunction, ThatWritesALeaf) {  // ERR-25
  auto function = [](const Tensor& a) { return DoublesInPlace::apply(a).exp(); };
  const auto error = thrown_by([&] { function(leaf({3})); });
  EXPECT_NE(error.find("a leaf Variable that requires grad"), std::string::npos) << error;
  EXPECT_EQ(error, thrown_by([&] { compile(function)(leaf({3})); }));
}

struct ValueAndMask : Function<ValueAndMask> {
  static variable_list forward(AutogradContext* ctx, const Tensor& x) {
    auto mask = x > 0;
    auto rounded = x.round();
    ctx->save_for_backward({mask});
    ctx->mark_non_differentiable({mask, rounded});
    return {x * mask, mask, rounded};
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    return {grads[0] * ctx->get_saved_variables()[0]};
  }
};

TEST(CustomFunction, WithNonDifferentiableOutputs) {
  trained_like_eager([](const Tensor& a) { return ValueAndMask::apply(a * 2); }, one_leaf);
}

struct WrongShape : Function<WrongShape> {
  static Tensor forward(AutogradContext*, const Tensor& x) { return x * 1; }
  static variable_list backward(AutogradContext*, const variable_list&) { return {torch::ones({11})}; }
};

TEST(CustomFunction, WhoseGradientHasTheWrongShape) {  // ERR-25
  auto out = compile([](const Tensor& a) { return WrongShape::apply(a.sin()); })(leaf({3}));
  EXPECT_NE(thrown_by([&] { out.sum().backward(); }).find("returned an invalid gradient at index 0"),
            std::string::npos);
}

struct ThrowsInBackward : Function<ThrowsInBackward> {
  static Tensor forward(AutogradContext*, const Tensor& x) { return x * 1; }
  static variable_list backward(AutogradContext*, const variable_list&) {
    throw std::runtime_error("a user's backward");
  }
};

TEST(CustomFunction, WhoseBackwardThrows) {
  auto compiled = compile([](const Tensor& a) { return ThrowsInBackward::apply(a.sin()); });
  for (int call = 0; call < 2; ++call) {
    auto out = compiled(leaf({3}));
    EXPECT_NE(thrown_by([&] { out.sum().backward(); }).find("a user's backward"), std::string::npos);
  }
}

/// Writes to the incoming gradient.
struct WritesItsGradient : Function<WritesItsGradient> {
  static variable_list forward(AutogradContext*, const Tensor& x) { return {x * 2, x * 3}; }
  static variable_list backward(AutogradContext*, const variable_list& grads) {
    auto first = grads[0];
    first.copy_(grads[1]);
    return {first};
  }
};

TEST(CustomFunction, ThatWritesItsGradient) {  // ALI-51, ALI-53
  trained_like_eager(
      [](const Tensor& a) {
        auto both = WritesItsGradient::apply(a);
        return both[0].sin() * both[1].exp();
      },
      one_leaf);
}

TEST(CustomFunction, ThatWritesTheGradientOfACaller) {  // ALI-51
  trained_like_eager([](const Tensor& a) { return WritesItsGradient::apply(a); }, one_leaf);
}

/// Its gradient is a tensor that was passed to the forward pass.
struct ReturnsASavedInput : Function<ReturnsASavedInput> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& gradient) {
    ctx->save_for_backward({gradient});
    return x * 2;
  }
  static variable_list backward(AutogradContext* ctx, const variable_list&) {
    return {ctx->get_saved_variables()[0], Tensor()};
  }
};

TEST(CustomFunction, ThatReturnsASavedInput) {  // ALI-54
  auto a = leaf({3});
  auto saved = torch::ones({3});
  auto compiled = compile([](const Tensor& x, const Tensor& y) { return ReturnsASavedInput::apply(x, y); });
  compiled(a, saved).sum().backward();
  compiled(a, saved).sum().backward();
  EXPECT_TRUE(a.grad().equal(torch::full({3}, 2.0F)));
  EXPECT_TRUE(saved.equal(torch::ones({3})));
  trained_like_eager([](const Tensor& x, const Tensor& y) { return ReturnsASavedInput::apply(x, y.sin()); },
                     [] { return std::tuple(leaf({3}), torch::randn({3})); });
}

/// Counts backward passes in a tensor that was passed to the forward pass.
struct CountsBackwards : Function<CountsBackwards> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& counter) {
    ctx->saved_data["counter"] = counter;
    return x * 2;
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    at::NoGradGuard no_grad;
    ctx->saved_data["counter"].toTensor().add_(grads[0].sum());
    return {grads[0] * 2, Tensor()};
  }
};

TEST(CustomFunction, ThatWritesAnInputInItsBackward) {  // ALI-50
  trained_like_eager(
      [](const Tensor& x, const Tensor& counter) { return CountsBackwards::apply(x, counter); },
      [] { return std::tuple(leaf({3}), torch::zeros({})); });
}

TEST(CustomFunction, ThatWritesALeafInItsBackward) {  // ALI-52
  trained_like_eager(
      [](const Tensor& x, const Tensor& counter) { return CountsBackwards::apply(x, counter); },
      [] { return std::tuple(leaf({3}), torch::zeros({}).requires_grad_()); });
}

/// Stores its own result outside the list of saved tensors.
struct StashesItsResult : Function<StashesItsResult> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x) {
    auto result = x.exp();
    ctx->saved_data["result"] = result.detach();
    return result;
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    return {grads[0] * ctx->saved_data["result"].toTensor()};
  }
};

TEST(CustomFunction, ThatStashesItsResult) {  // SUB-17
  trained_like_eager([](const Tensor& x) { return StashesItsResult::apply(x.sin()); }, one_leaf);
}

// --- the engine inside

TEST(GradInside, OfAFirstOrder) {  // CAP-25
  trained_like_eager(
      [](const Tensor& a) {
        auto y = (a * a * a).sum();
        return torch::autograd::grad({y}, {a})[0].cos();
      },
      one_leaf, nothing);
}

TEST(GradInside, DifferentiatedFromOutside) {  // CAP-26
  auto penalty = [](const Tensor& a) {
    auto y = (a.sin() * a).sum();
    auto gradient = torch::autograd::grad({y}, {a}, {}, /*retain_graph=*/true, /*create_graph=*/true)[0];
    return y + gradient.pow(2).sum();
  };
  trained_like_eager(penalty, one_leaf);
  trained_like_eager(penalty, one_activation);
}

TEST(GradInside, WithRespectToAnIntermediate) {
  trained_like_eager(
      [](const Tensor& a) {
        auto middle = a.sin();
        auto gradient = torch::autograd::grad({middle.exp().sum()}, {middle}, {}, true, true)[0];
        return gradient * a;
      },
      one_leaf);
}

TEST(GradInside, OfALeafMadeInside) {
  trained_like_eager(
      [](const Tensor& a) {
        auto x = a.detach().requires_grad_();
        return torch::autograd::grad({(x * x * a.detach()).sum()}, {x})[0] + a;
      },
      one_leaf);
}

}  // namespace
}  // namespace antegrad::test
