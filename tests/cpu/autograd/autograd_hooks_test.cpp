// Hooks, retained gradients and anomaly mode, outside and inside of compiled functions.
#include <torch/csrc/autograd/anomaly_mode.h>

#include "support/training_like_eager.h"

namespace antegrad::test {
namespace {

using at::Tensor;

auto square() {
  return [](const Tensor& a) { return (a * a).sum(); };
}

// --- hooks of users' tensors

TEST(Hooks, OfInputsAndOutputs) {
  trained_like_eager([](const Tensor& a, const Tensor& b) { return a * b; },
                     [] {
                       auto a = leaf({3});
                       a.register_hook([](const Tensor& g) { return g * 2; });
                       auto b = activation({3});
                       b.register_hook([](const Tensor& g) { return g + 1; });
                       return std::tuple(a, b);
                     },
                     [](const Scene& s) {
                       s.outputs[0].register_hook([](const Tensor& g) { return g * 10; });
                       backward_of_outputs(s);
                     });
}

TEST(Hooks, OfParameters) {
  auto net = [] {
    auto w = leaf({4});
    w.register_hook([](const Tensor& g) { return g.clamp(-0.1, 0.1); });
    return std::pair([w](const Tensor& x) { return (x * w).sin(); }, Tensors{w});
  };
  trained_with_state_like_eager(net, one_leaf);
}

TEST(Hooks, FireOncePerBackwardAndNotInCaptures) {
  int fired = 0;
  auto w = leaf({4});
  w.register_hook([&](const Tensor&) { ++fired; });
  auto inner = w * 2;
  inner.register_hook([&](const Tensor&) { fired += 100; });
  auto x = leaf({4});
  x.register_hook([&](const Tensor&) { fired += 10000; });
  auto compiled = compile([&](const Tensor& a) { return (a * inner + w).sum(); });
  auto out = compiled(x);
  EXPECT_EQ(fired, 0);
  out.backward({}, /*retain_graph=*/true);
  EXPECT_EQ(fired, 10101);
  out.backward({}, /*retain_graph=*/true, /*create_graph=*/true);
  EXPECT_EQ(fired, 20202);
}

TEST(Hooks, RemovedAgain) {
  auto a = leaf({3});
  auto compiled = compile(square());
  const auto hook = a.register_hook([](const Tensor& g) { return g * 100; });
  compiled(a).backward();
  EXPECT_TRUE(a.grad().allclose(200 * a.detach()));
  a.remove_hook(hook);
  a.mutable_grad() = Tensor();
  compiled(a).backward();
  EXPECT_TRUE(a.grad().allclose(2 * a.detach()));
  EXPECT_EQ(compiled.report().captures, 1U);
}

TEST(Hooks, RetainedGradients) {
  auto a = leaf({3});
  auto middle = a * 2;
  middle.retain_grad();
  auto out = compile(square())(middle);
  out.retain_grad();
  out.backward();
  EXPECT_TRUE(out.grad().equal(torch::ones({})));
  EXPECT_TRUE(middle.grad().allclose(2 * middle.detach()));
}

TEST(Hooks, OnIntermediatesInside) {
  trained_like_eager(
      [](const Tensor& a) {
        auto middle = a * 2;
        middle.register_hook([](const Tensor& g) { return g * 3; });
        return (middle * middle).sum();
      },
      one_leaf);
}

TEST(Hooks, OnAnIntermediateWithTwoUses) {  // PAR-14
  TrainingOptions options;
  options.compile.policy = RecomputeAll{};
  trained_like_eager(
      [](const Tensor& a) {
        auto middle = a.sin();
        middle.register_hook([](const Tensor& g) { return g.clamp(-0.5, 0.5); });
        return middle.exp() + middle.cos();
      },
      one_leaf, options);
}

TEST(Hooks, OnArgumentsInside) {
  trained_like_eager(
      [](const Tensor& a) {
        auto hooked = a.view_as(a);
        hooked.register_hook([](const Tensor& g) { return -g; });
        return hooked.exp();
      },
      one_leaf);
}

TEST(Hooks, ThatThrow) {
  auto a = leaf({3});
  auto out = compile(square())(a);
  out.register_hook([](const Tensor&) { throw std::runtime_error("a user's hook"); });
  EXPECT_EQ(thrown_by([&] { out.backward({}, true); }), "a user's hook");
  EXPECT_FALSE(a.grad().defined());
}

// --- anomaly mode

using Anomaly = torch::autograd::DetectAnomalyGuard;

/// The gradient of sqrt at 0, times 0, is NaN.
auto nan_gradient() {
  return [](const Tensor& a) { return ((a * 0).sqrt() * 0).sum(); };
}

TEST(AnomalyMode, CapturesAndRuns) {
  Anomaly anomaly;
  trained_like_eager(square(), one_leaf);
  trained_like_eager([](const Tensor& a, const Tensor& b) { return a.tanh() * b; }, two_activations);
}

TEST(AnomalyMode, NanGradientsRaise) {  // ERR-23
  Anomaly anomaly;
  auto compiled = compile(nan_gradient());
  for (int call = 0; call < 2; ++call) {
    auto a = leaf({3});
    auto out = compiled(a);
    EXPECT_EQ(thrown_by([&] { out.backward(); }),
              "Function 'AntegradBackward' returned nan values in its 0th output.");
    EXPECT_FALSE(a.grad().defined());
  }
}

TEST(AnomalyMode, NanGradientsOfGradRaise) {  // ERR-23
  Anomaly anomaly;
  auto a = leaf({3});
  auto out = compile(nan_gradient())(a);
  EXPECT_NE(thrown_by([&] { torch::autograd::grad({out}, {a}); }).find("returned nan values"),
            std::string::npos);
}

TEST(AnomalyMode, NanForwardsAreFine) {
  Anomaly anomaly;
  auto a = torch::full({3}, -1.0F).requires_grad_();
  EXPECT_TRUE(compile([](const Tensor& x) { return x.log(); })(a).isnan().all().item<bool>());
}

TEST(AnomalyMode, GuardsNest) {  // ERR-26
  auto raises = [](auto& function) {
    auto out = function(leaf({3}));
    return !thrown_by([&] { out.backward(); }).empty();
  };
  auto compiled = compile(nan_gradient());
  EXPECT_FALSE(raises(compiled));
  Anomaly outer;
  EXPECT_TRUE(raises(compiled));
  {
    Anomaly inner(/*check_nan=*/false);
    EXPECT_FALSE(raises(compiled));
  }
  EXPECT_TRUE(raises(compiled));
}

/// Collects LibTorch's warnings instead of printing them.
struct Warnings : c10::WarningHandler {
  void process(const c10::Warning& warning) override { text += warning.msg() + "\n"; }
  std::string text;
};

TEST(AnomalyMode, NamesTheForwardOrigin) {  // ERR-26
  Anomaly anomaly;
  auto compiled = compile(nan_gradient());
  Warnings warnings;
  c10::WarningUtils::WarningHandlerGuard guard(&warnings);
  auto out = compiled(leaf({3}));
  EXPECT_ANY_THROW(out.backward());
  EXPECT_NE(warnings.text.find(
                "Error detected in AntegradBackward. Traceback of forward call that caused the error"),
            std::string::npos)
      << warnings.text;
}

TEST(AnomalyMode, StaysAsItWasAfterCaptures) {
  Anomaly anomaly(/*check_nan=*/false);
  compile(square())(leaf({3})).backward();
  EXPECT_TRUE(torch::autograd::AnomalyMode::is_enabled());
  EXPECT_FALSE(torch::autograd::AnomalyMode::should_check_nan());
}

}  // namespace
}  // namespace antegrad::test
