// Inputs and captured tensors that the function changes in place while gradients flow through them.
#include "support/training_like_eager.h"

namespace antegrad::test {
namespace {

using at::Tensor;

auto data_and_leaf() { return std::tuple(torch::randn({3, 4}), leaf({3, 4})); }
/// A view of an activation, and the activation.
auto part_of_an_activation() {
  auto whole = activation({4, 4});
  return std::tuple(whole.slice(0, 1, 3), whole);
}

TEST(MutationInTraining, OfAnActivation) {  // ALI-04
  auto scaled = [](const Tensor& a, const Tensor& b) {
    a.mul_(b);
    return a.sin() + b;
  };
  trained_like_eager(scaled, two_activations);
  trained_like_eager(scaled, two_activations, backward_of_outputs_and_inputs);
}

TEST(MutationInTraining, ValuesBeforeAndAfter) {  // ALI-04
  auto function = [](const Tensor& a) {
    auto before = a.exp();
    a.mul_(3).add_(1);
    return std::tuple(before, a * 2);
  };
  trained_like_eager(function, one_activation, backward_of_outputs_and_inputs);
  trained_like_eager(function, one_activation, [](const Scene& s) { s.outputs[0].sum().backward(); });
  trained_like_eager(function, one_activation, [](const Scene& s) { s.inputs[0].sum().backward(); });
}

TEST(MutationInTraining, DataThatGetsAHistory) {  // ALI-04
  auto function = [](const Tensor& a, const Tensor& b) {
    a.add_(b * b);
    return a.detach() * 2;
  };
  trained_like_eager(function, data_and_leaf, backward_of_outputs_and_inputs);
}

TEST(MutationInTraining, OverwrittenEntirely) {  // ALI-04
  trained_like_eager(
      [](const Tensor& a, const Tensor& b) {
        a.copy_(b.sin());
        return a * b;
      },
      two_activations, backward_of_outputs_and_inputs);
  trained_like_eager(
      [](const Tensor& a) {
        auto out = a.exp();
        a.zero_();
        return out;
      },
      one_activation, backward_of_outputs_and_inputs);
}

TEST(MutationInTraining, MutatedAndReturned) {  // ALI-05
  trained_like_eager([](const Tensor& a) { return a.mul_(2); }, one_activation);
  trained_like_eager(
      [](const Tensor& a, const Tensor& b) {
        a.mul_(b);
        return std::tuple(b, a, a.view({-1}));
      },
      two_activations);
}

TEST(MutationInTraining, OfTheShape) {  // ALI-06
  trained_like_eager(
      [](const Tensor& a) {
        a.t_();
        return a.exp();
      },
      one_activation);
  trained_like_eager(
      [](const Tensor& a) {
        a.t_();
        a.mul_(2);
        return a.exp();
      },
      one_activation, backward_of_outputs_and_inputs);
}

TEST(MutationInTraining, OfTheShapeAndOneRow) {  // ALI-07
  trained_like_eager(
      [](const Tensor& a) {
        a.t_();
        a.select(0, 0).mul_(2);
        return a.view_as(a).sin();
      },
      one_activation, backward_of_outputs_and_inputs);
}

TEST(MutationInTraining, OfMemoryThatWasSwapped) {  // ERR-01 (here it works)
  trained_like_eager(
      [](const Tensor& a, const Tensor& b) {
        a.set_(torch::ones({3, 4}));
        a.mul_(b);
        return a.sin();
      },
      data_and_leaf, backward_of_outputs_and_inputs);
}

TEST(MutationInTraining, OfAStridedViewOfAnActivation) {  // ALI-08
  auto column = [] { return std::tuple(activation({4, 4}).select(1, 2)); };
  trained_like_eager(
      [](const Tensor& a) {
        a.mul_(2);
        return a.sin();
      },
      column);
  trained_like_eager(
      [](const Tensor& a) {
        a.mul_(2);
        return a.sin();
      },
      column, [](const Scene& s) { Tensor(s.inputs[0]._base()).exp().sum().backward(); });
}

TEST(MutationInTraining, OfAColumnOfAnActivation) {  // ALI-08
  trained_like_eager(
      [](const Tensor& a) {
        a.select(1, 0).mul_(5);
        return a.exp();
      },
      one_activation, backward_of_outputs_and_inputs);
}

TEST(MutationInTraining, OfADetachedAliasOfALeaf) {  // ALI-09
  trained_like_eager(
      [](const Tensor& a) {
        a.detach().mul_(2);
        return a + 3;
      },
      one_leaf);
}

TEST(MutationInTraining,
     OfADetachedAliasThatTheBackwardReads) {  // ALI-09: eager's error, in backward only
  trained_like_eager(
      [](const Tensor& a) {
        auto out = a.sin();
        a.detach().mul_(2);
        return out;
      },
      one_leaf);
}

TEST(MutationInTraining, UnderNoGrad) {  // ALI-10
  auto function = [](const Tensor& a) {
    {
      at::NoGradGuard no_grad;
      a.mul_(2);
    }
    return a.sin();
  };
  trained_like_eager(function, one_leaf);
  trained_like_eager(function, one_activation);
}

TEST(MutationInTraining, ThroughAViewUnderNoGrad) {  // ALI-11
  auto function = [](const Tensor& a) {
    {
      at::NoGradGuard no_grad;
      a.view({-1}).slice(0, 0, 2).add_(1);
    }
    return a.exp();
  };
  trained_like_eager(function, one_leaf);
}

TEST(MutationInTraining, OfALeafIsEagersError) {
  trained_like_eager([](const Tensor& a) { return a.mul_(2); }, one_leaf, nothing);
}

TEST(MutationInTraining, RunningStatistics) {  // ALI-12
  trained_like_eager(
      [](const Tensor& x, const Tensor& mean, const Tensor& var) {
        return at::batch_norm(x, {}, {}, mean, var, /*training=*/true, 0.1, 1e-5, false);
      },
      [] {
        return std::tuple(leaf({5, 3}), torch::zeros({3}), torch::ones({3}));
      });
}

TEST(MutationInTraining, BuffersOfAModule) {  // ALI-13
  auto net = [] {
    torch::nn::BatchNorm1d norm(4);
    auto w = leaf({4, 4});
    Tensors state{
        norm->weight, norm->bias, norm->running_mean, norm->running_var, norm->num_batches_tracked, w};
    auto forward = [norm, w](const Tensor& x) mutable { return norm->forward(at::mm(x, w)).relu(); };
    return std::pair(
        [forward](const Tensor& x) { return std::remove_cvref_t<decltype(forward)>(forward)(x); }, state);
  };
  trained_with_state_like_eager(net, [] { return std::tuple(torch::randn({5, 4})); });
}

TEST(MutationInTraining, ACapturedStateWithAHistory) {
  auto counter = [] {
    auto state = torch::zeros({3});
    auto w = leaf({3});
    return std::pair(
        [state, w](const Tensor& x) {
          state.add_(x * w);
          return state * 2;
        },
        Tensors{state, w});
  };
  TrainingOptions options;
  options.finish = [](const Scene& s) { backward_through(s.outputs); };
  options.new_data = false;  // the second call's backward pass would reach the freed graph of the first
  trained_with_state_like_eager(
      counter, [] { return std::tuple(torch::randn({3})); }, options);
}

TEST(MutationInTraining, RequiresGradInside) {  // ALI-14
  auto function = [](const Tensor& a, const Tensor& b) {
    a.requires_grad_();
    return a * b;
  };
  trained_like_eager(function, [] { return std::tuple(torch::randn({3}), torch::randn({3})); });
  trained_like_eager(function, [] { return std::tuple(torch::randn({3}), leaf({3})); });
}

TEST(MutationInTraining, RequiresGradOfAnIntermediate) {
  trained_like_eager([](const Tensor& a) { return (a.detach() * 2).requires_grad_(); }, one_leaf);
  trained_like_eager(
      [](const Tensor& a) {
        auto b = a.detach().clone().requires_grad_();
        return std::tuple(b.detach(), b.detach() * a);
      },
      one_leaf);
}

TEST(MutationInTraining, DetachedAliasSeesTheChange) {  // ALI-15
  trained_like_eager(
      [](const Tensor& a) {
        auto alias = a.detach();
        a.mul_(2);
        return std::tuple(alias, a + 1);
      },
      one_activation);
}

TEST(MutationInTraining, RowOfAnExpandedInput) {  // ALI-16
  trained_like_eager(
      [](const Tensor& a) {
        auto wide = a.expand({5, 3});
        wide.select(1, 1).select(0, 0).mul_(4);
        return a.sin();
      },
      [] {
        return std::tuple(activation({1, 3}));
      });
}

/// Data that has no gradient, or the result of an op, seen three times; and a leaf.
auto expanded_data_and_leaf() { return std::tuple(torch::randn({4}).expand({3, 4}), leaf({4})); }
auto expanded_activation_and_leaf() { return std::tuple(activation({4}).expand({3, 4}), leaf({4})); }

TEST(MutationInTraining, RowOfAnExpandedArgument) {  // ALI-16
  const auto scaled = [](const Tensor& a, const Tensor& b) {
    a[1].mul_(b);
    return a * 2;
  };
  const auto replaced = [](const Tensor& a, const Tensor& b) {
    const auto before = a * 3;
    a.select(0, 2).slice(0, 1, 3).copy_(b.slice(0, 0, 2).exp());
    return std::tuple(before, a.cos(), a[0]);
  };
  for (const auto& finish : {backward_of_outputs, backward_of_outputs_and_inputs}) {
    trained_like_eager(scaled, expanded_data_and_leaf, finish);
    trained_like_eager(scaled, expanded_activation_and_leaf, finish);
    trained_like_eager(replaced, expanded_data_and_leaf, finish);
    trained_like_eager(replaced, expanded_activation_and_leaf, finish);
  }
}

TEST(MutationInTraining, RowOfAnExpandedArgumentThatIsPassedTwice) {  // ALI-16, ALI-35
  trained_like_eager(
      [](const Tensor& a, const Tensor& whole, const Tensor& b) {
        a[1].add_(b);
        return a * whole;
      },
      [] {
        const auto whole = activation({4});
        return std::tuple(whole.expand({3, 4}), whole, leaf({4}));
      },
      backward_of_outputs_and_inputs);
}

TEST(MutationInTraining, OfIntermediatesAndTheirViews) {
  trained_like_eager(
      [](const Tensor& a, const Tensor& b) {
        auto c = a * 1;
        c.select(0, 0).copy_(b.select(0, 1));
        auto d = c.view({-1});
        d.slice(0, 2, 6).mul_(3);
        c.relu_();
        return c * b;
      },
      two_leaves);
}

TEST(MutationInTraining, BeforeAndAfterOfBothArguments) {
  trained_like_eager(
      [](const Tensor& a, const Tensor& b) {
        auto c = a * b;
        a.add_(b);
        b.mul_(2);
        return std::tuple(c + 1, a.sum(), b.t());
      },
      two_activations, nothing);
}

TEST(MutationInTraining, OfAPartWhileTheWholeIsNotPassed) {  // ALI-35
  trained_like_eager(
      [](const Tensor& part) {
        part.mul_(2);
        return part.exp();
      },
      [] { return std::tuple(std::get<0>(part_of_an_activation())); }, backward_of_outputs);
}

TEST(MutationInTraining, RequiresGradChangesBetweenCalls) {  // ALI-49
  auto compiled = compile([](const Tensor& a) { return (a * a).sum(); });
  auto with = leaf({3});
  auto without = torch::randn({3});
  EXPECT_TRUE(compiled(with).requires_grad());
  EXPECT_FALSE(compiled(without).requires_grad());
  compiled(with).backward();
  EXPECT_TRUE(with.grad().equal(2 * with.detach()));
  EXPECT_EQ(compiled.report().captures, 2U);
}

}  // namespace
}  // namespace antegrad::test
