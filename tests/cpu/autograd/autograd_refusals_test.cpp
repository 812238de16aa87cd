// What eager refuses or barely allows is refused or allowed when compiled, with eager's messages.
#include "support/training_like_eager.h"

namespace antegrad::test {
namespace {

using at::Tensor;

TEST(EagerRefuses, WritingToOneOfManyViews) {
  trained_like_eager(
      [](const Tensor& a) {
        auto rows = (a * 2).unbind();
        rows[0].mul_(2);
        return rows[0];
      },
      one_leaf, nothing);
}

TEST(EagerRefuses, WritingToAViewOfALeaf) {
  trained_like_eager([](const Tensor& a) { return a.view({-1}).mul_(2); }, one_leaf, nothing);
}

TEST(EagerRefuses, WritingToAnExpandedTensor) {
  trained_like_eager([](const Tensor& a) { return (a.sum() * 2).expand({3}).add_(1); }, one_leaf, nothing);
}

TEST(EagerRefuses, SavingInferenceTensors) {
  trained_like_eager([](const Tensor& a, const Tensor& b) { return a * b; },
                     [] {
                       auto a = leaf({3});
                       c10::InferenceMode inference;
                       return std::tuple(a, torch::randn({3}));
                     },
                     nothing);
}

TEST(EagerRefuses, GradientsOfTheWrongShape) {
  trained_like_eager([](const Tensor& a) { return a.sin(); }, one_leaf,
                     [](const Scene& s) { s.outputs[0].backward(torch::ones({5})); });
}

TEST(EagerRefuses, ImplicitGradientsOfManyElements) {
  trained_like_eager([](const Tensor& a) { return a.sin(); }, one_leaf,
                     [](const Scene& s) { s.outputs[0].backward(); });
}

TEST(EagerRefuses, BackwardOfResultsWithoutHistory) {
  trained_like_eager([](const Tensor& a) { return a.detach().sum(); }, one_leaf,
                     [](const Scene& s) { s.outputs[0].backward(); });
}

TEST(EagerRefuses, GradientsOfIntegers) {
  trained_like_eager([](const Tensor& a) { return a.to(at::kLong).requires_grad_(); }, one_leaf, nothing);
}

TEST(EagerAllows, GradientsOfAnotherType) {
  trained_like_eager([](const Tensor& a) { return a.sin(); }, one_leaf,
                     [](const Scene& s) {
                       s.outputs[0].backward(torch::full({3, 4}, 2.0, at::kDouble));
                     });
}

TEST(EagerAllows, GradientsThatRequireGradients) {
  trained_like_eager([](const Tensor& a) { return a.sin(); }, one_leaf,
                     [](const Scene& s) {
                       s.outputs[0].backward(torch::full({3, 4}, 2.0F).requires_grad_());
                     });
}

TEST(EagerAllows, RequiresGradTakenAwayInside) {
  trained_like_eager(
      [](const Tensor& a, const Tensor& b) {
        a.set_requires_grad(false);
        return a * b;
      },
      two_leaves);
}

TEST(EagerAllows, ExpandedArgumentsAsResults) {
  trained_like_eager([](const Tensor& a) { return a.expand({2, 3, 4}); }, one_activation);
}

TEST(EagerAllows, AResultThatIsItsArgumentAsItIs) {
  trained_like_eager([](const Tensor& a) { return std::tuple(a.contiguous(), a.to(at::kFloat)); },
                     one_activation);
}

TEST(EagerAllows, LongChains) {
  trained_like_eager(
      [](const Tensor& a) {
        auto x = a;
        for (int i = 0; i < 3000; ++i) x = x.sin();
        return x;
      },
      one_leaf);
}

TEST(EagerAllows, ManyResults) {
  trained_like_eager(
      [](const Tensor& a) {
        Tensors results;
        for (int i = 0; i < 100; ++i) results.push_back(a * i);
        return results;
      },
      one_leaf);
}

struct ReturnsAView : torch::autograd::Function<ReturnsAView> {
  static Tensor forward(torch::autograd::AutogradContext*, const Tensor& x) { return x.t(); }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext*,
                                                 const torch::autograd::variable_list& grads) {
    return {grads[0].t()};
  }
};

TEST(EagerRefuses, WritingToAViewOfACustomFunction) {
  auto function = [](const Tensor& a) { return ReturnsAView::apply(a.exp()); };
  auto refusal = [](auto called) {
    auto out = called(leaf({2, 2}));
    const auto text = thrown_by([&] { out.mul_(2); });
    return text.substr(text.find("is a view"));
  };
  EXPECT_EQ(refusal(function), refusal(compile(function)));
}

}  // namespace
}  // namespace antegrad::test
