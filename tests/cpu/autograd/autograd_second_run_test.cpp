// backward() with create_graph runs the function again over fakes, which must not be observable.
#include "support/seeds.h"
#include "support/training.h"
#include "support/training_like_eager.h"

namespace antegrad::test {
namespace {

using at::Tensor;

Tensor derivative(const Tensor& y, const Tensor& x) {
  return torch::autograd::grad({y.sum()}, {x}, {}, /*retain_graph=*/true, /*create_graph=*/true)[0];
}

void backward_of_derivative(const Scene& s) { derivative(s.outputs[0], s.inputs[0]).pow(2).sum().backward(); }

TrainingOptions second_order() {
  TrainingOptions options;
  options.finish = backward_of_derivative;
  return options;
}

TEST(SecondRun, LeavesRunningStatisticsAlone) {
  auto net = [] {
    torch::nn::BatchNorm1d norm(4);
    auto forward = [norm](const Tensor& x) {
      auto layer = norm;
      return layer->forward(x).tanh();
    };
    return std::pair(forward, Tensors{norm->weight, norm->bias, norm->running_mean, norm->running_var,
                                      norm->num_batches_tracked});
  };
  trained_with_state_like_eager(
      net,
      [] {
        return std::tuple(leaf({5, 4}));
      },
      second_order());
}

TEST(SecondRun, LeavesCountersAlone) {
  auto counting = [] {
    auto counter = torch::zeros({});
    return std::pair(
        [counter](const Tensor& x) {
          counter.add_(1);
          return x.pow(3);
        },
        Tensors{counter});
  };
  trained_with_state_like_eager(counting, one_leaf, second_order());
}

TEST(SecondRun, LeavesWrittenArgumentsAlone) {
  trained_like_eager(
      [](const Tensor& x, const Tensor& log) {
        log.add_(x.detach());
        return x.exp();
      },
      [] { return std::tuple(leaf({3}), torch::zeros({3})); }, backward_of_derivative);
}

TEST(SecondRun, LeavesTheGeneratorAlone) {
  for (auto rng : {Rng::Fused, Rng::Eager}) {
    Options settings;
    settings.rng = rng;
    auto a = leaf({8});
    auto out = compile([](const Tensor& x) { return at::dropout(x.exp(), 0.5, true); }, settings)(a);
    const auto before = at::detail::getDefaultCPUGenerator().get_state();
    derivative(out, a);
    EXPECT_TRUE(before.equal(at::detail::getDefaultCPUGenerator().get_state()));
  }
}

TEST(SecondRun, SeesHooksInside) {
  trained_like_eager(
      [](const Tensor& a) {
        auto middle = a.sin();
        middle.register_hook([](const Tensor& g) { return g * g; });
        return middle.exp();
      },
      one_leaf, backward_of_derivative);
}

TEST(SecondRun, SeesCustomFunctions) {
  struct Cube : torch::autograd::Function<Cube> {
    static Tensor forward(torch::autograd::AutogradContext* ctx, const Tensor& x) {
      ctx->save_for_backward({x});
      return x * x * x;
    }
    static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                   const torch::autograd::variable_list& grads) {
      return {grads[0] * 3 * ctx->get_saved_variables()[0].pow(2)};
    }
  };
  trained_like_eager([](const Tensor& a) { return Cube::apply(a.sin()); }, one_leaf, backward_of_derivative);
}

TEST(SecondRun, SeesRegionsWithoutGradients) {
  trained_like_eager(
      [](const Tensor& a) {
        Tensor scale;
        {
          at::NoGradGuard no_grad;
          scale = a.pow(2).sum();
        }
        return a.pow(3) * scale;
      },
      one_leaf, backward_of_derivative);
}

TEST(SecondRun, SeesModifiedTensors) {
  auto write_then_derive = [](const Scene& s) {
    {
      at::NoGradGuard no_grad;
      s.inputs[0].add_(1);
    }
    backward_of_derivative(s);
  };
  trained_like_eager([](const Tensor& a) { return a.sin(); }, one_leaf, write_then_derive);
}

TEST(SecondRun, OnAFreedGraphThrows) {
  trained_like_eager([](const Tensor& a) { return a.sin().sum(); }, one_leaf,
                     [](const Scene& s) {
                       s.outputs[0].backward();
                       backward_of_derivative(s);
                     });
}

TEST(SecondRun, OutsideAutocastOfACallUnderAutocast) {
  auto run = [](auto function) {
    test::manual_seed(5);
    auto x = leaf({4, 4});
    auto w = leaf({4, 4});
    Tensor out;
    {
      test::Bfloat16 autocast;
      out = function(x, w);
    }
    derivative(out.to(at::kFloat), x).pow(2).sum().backward();
    return Tensors{x.grad(), w.grad()};
  };
  auto function = [](const Tensor& x, const Tensor& w) { return at::mm(x, w).tanh(); };
  const auto expected = run(function);
  const auto actual = run(compile(function));
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_TRUE(actual[i].defined()) << i;
    EXPECT_EQ(expected[i].dtype(), actual[i].dtype()) << i;
    EXPECT_TRUE(expected[i].allclose(actual[i], 0.02, 0.02)) << i << expected[i] << actual[i];
  }
}

TEST(SecondRun, AfterTheCompiledFunctionIsGone) {
  auto a = leaf({3});
  Tensor out;
  {
    out = compile([](const Tensor& x) { return x.pow(3); })(a);
  }
  derivative(out, a).sum().backward();
  EXPECT_TRUE(a.grad().allclose(6 * a.detach()));
}

TEST(SecondRun, OfSomeInputsOnly) {
  trained_like_eager([](const Tensor& a, const Tensor& b) { return a.pow(3) * b.exp(); }, two_leaves,
                     [](const Scene& s) { derivative(s.outputs[0], s.inputs[1]).sum().backward(); });
}

TEST(SecondRun, OfActivations) {
  trained_like_eager(
      [](const Tensor& a, const Tensor& b) { return a.pow(3) * b.exp(); }, two_activations,
      [](const Scene& s) { derivative(s.outputs[0], s.inputs[0]).mul(s.outputs[0]).sum().backward(); });
}

}  // namespace
}  // namespace antegrad::test
