// What is refused where gradients flow (docs/known-gaps.md#gradients) runs in parts, exactly as in eager.
#include "support/training_like_eager.h"

namespace antegrad::test {
namespace {

using at::Tensor;

TrainingOptions in_parts_with(Finish finish = backward_of_outputs) {
  TrainingOptions options;
  options.compile.unsupported = Unsupported::Break;
  options.finish = std::move(finish);
  options.same_views = false;
  return options;
}

/// Checks that the function is refused, and is as eager's in parts.
template <class F, class Make>
void refused_but_in_parts(const F& function, const Make& make, Finish finish = backward_of_outputs) {
  auto refused = compile(function);
  EXPECT_THROW(std::apply(refused, make()), Error);
  const auto report = trained_like_eager(function, make, in_parts_with(std::move(finish)));
  // The first of two calls finds nothing that would break it, the second one finds that it is refused.
  EXPECT_EQ(report.broken_calls + report.waiting_calls, 2U);
  EXPECT_GE(report.broken_calls, 1U);
  EXPECT_GT(report.stretches, 0U);
}

TEST(RefusedGradients, AReturnedLeaf) {
  refused_but_in_parts(
      [](const Tensor& a) {
        auto leaf = (a.detach() * 2).requires_grad_();
        return std::tuple((a * leaf).sin(), leaf);
      },
      one_leaf);
}

TEST(RefusedGradients, AViewOfALeafMadeInside) {
  refused_but_in_parts(
      [](const Tensor& a) {
        auto leaf = (a.detach() * 2).requires_grad_();
        return std::tuple((a * leaf).sin(), leaf.view({-1}));
      },
      one_leaf);
}

TEST(RefusedGradients, AHookOnAnArgument) {
  for (int kind = 0; kind < 2; ++kind)
    refused_but_in_parts(
        [](const Tensor& a) {
          a.register_hook([](const Tensor& gradient) { return gradient * 5; });
          return a.sin() * 2;
        },
        [kind] {
          return std::tuple(kind == 0 ? leaf({3, 4}) : activation({3, 4}));
        });
}

TEST(RefusedGradients, RetainGradOfAResultThatOthersDependOn) {
  refused_but_in_parts(
      [](const Tensor& a) {
        auto y = a.sin();
        y.retain_grad();
        return std::tuple(y.exp(), y);
      },
      one_leaf,
      [](const Scene& scene) {
        scene.outputs[0].sum().backward();
        EXPECT_TRUE(scene.outputs[1].retains_grad());
        EXPECT_TRUE(scene.outputs[1].grad().allclose(scene.outputs[0]));
      });
}

TEST(RefusedGradients, AShapeThatIsChangedWithAViewReturned) {
  refused_but_in_parts(
      [](const Tensor& a) {
        a.t_();
        return std::tuple(a * 2, a.select(0, 1));
      },
      one_activation);
}

TEST(RefusedGradients, ArgumentsThatShareMemory) {
  refused_but_in_parts(
      [](const Tensor& a, const Tensor& b) {
        b.mul_(2);
        return a * 3;
      },
      [] {
        auto a = leaf({3, 4});
        return std::tuple(a, a.detach());
      });
}

TEST(RefusedGradients, AnArgumentDetachedInPlaceWithAViewReturned) {
  for (int kind = 0; kind < 2; ++kind)
    refused_but_in_parts(
        [](const Tensor& a) {
          auto y = a.exp();
          a.detach_();
          return std::tuple(y, a.view({-1}));
        },
        [kind] {
          return std::tuple(kind == 0 ? leaf({3, 4}) : activation({3, 4}));
        });
}

TEST(RefusedGradients, ACapturedTensorDetachedInPlace) {
  const auto make = [] {
    auto state = activation({3, 4});
    return std::pair(
        [state](const Tensor& a) {
          auto y = state.exp() * a;
          state.detach_();
          return y;
        },
        Tensors{state});
  };
  auto refused = compile(make().first);
  EXPECT_THROW(refused(leaf({3, 4})), Error);
  auto options = in_parts_with();
  options.new_data = false;  // it is a leaf from then on
  const auto report = trained_with_state_like_eager(make, one_leaf, options);
  EXPECT_EQ(report.broken_calls + report.waiting_calls, 1U);
}

TEST(RefusedGradients, ACapturedViewThatIsWritten) {
  const auto make = [] {
    auto base = activation({3, 4});
    auto row = base.select(0, 1);
    return std::pair(
        [row](const Tensor& a) {
          row.mul_(a.sum());
          return row * 2;
        },
        Tensors{base, row});
  };
  const auto report = trained_with_state_like_eager(make, one_leaf, in_parts_with());
  EXPECT_EQ(report.broken_calls + report.waiting_calls, 2U);
  EXPECT_GE(report.broken_calls, 1U);
}

/// Such a view requires a gradient because of its base, but autograd finds no way from it.
TEST(GradientsInParts, ViewOfALeafMadeWithoutGradMode) {
  const auto function = [](const at::Tensor& x) {
    auto view = x.view({-1});
    (void)view.detach().sum().item<float>();
    auto used = view.exp();
    (void)used.sum().item<float>();
    return view;
  };
  auto compiled = compile(function, in_parts_with().compile);
  auto x = leaf({2, 3});
  for (int call = 0; call < 2; ++call) {
    at::Tensor eager, parts;
    {
      const torch::NoGradGuard no_grad;
      eager = function(x);
      parts = compiled(x);
    }
    for (const auto& view : {eager, parts}) {
      EXPECT_TRUE(view.requires_grad());
      EXPECT_TRUE(view.is_view());
      EXPECT_THROW(torch::autograd::grad({view}, {x}, {torch::ones({6})}), c10::Error);
    }
  }
}

TEST(GradientsInParts, RetainGradOfATensorThatIsGone) {
  const auto report = trained_like_eager(
      [](const Tensor& a) {
        Tensor z;
        {
          auto y = a.sin();
          y.retain_grad();
          z = y * 3;  // holds the history of y, not y
        }
        return z.sum().item<float>() > 1000 ? z : z * 2;
      },
      one_leaf, in_parts_with());
  EXPECT_EQ(report.broken_calls, 2U);
}

/// The way out that does not need parts.
TEST(RefusedGradients, AViewThatIsWrittenAsAnArgument) {
  trained_like_eager(
      [](const Tensor& row, const Tensor& a) {
        row.mul_(a.sum());
        return row * 2;
      },
      [] {
        return std::tuple(activation({3, 4}).select(0, 1), leaf({3}));
      });
}

}  // namespace
}  // namespace antegrad::test
