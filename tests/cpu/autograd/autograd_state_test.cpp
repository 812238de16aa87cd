// Training together with its surroundings: optimizers, autocast, normalisation, donated memory.
#include <ATen/autocast_mode.h>

#include "support/seeds.h"
#include "support/training.h"
#include "support/training_like_eager.h"

namespace antegrad::test {
namespace {

using at::Tensor;
namespace nn = torch::nn;

// --- optimizers

/// Returns the weights after some steps, and the number of captures.
template <class Optimizer, class Settings>
std::pair<Tensors, uint64_t> weights_after_steps(bool compiled, const Settings& settings) {
  test::manual_seed(0);
  nn::Sequential net(nn::Linear(4, 8), nn::Tanh(), nn::Linear(8, 1));
  auto loss = [net](const Tensor& x) mutable { return net->forward(x).pow(2).mean(); };
  auto fast = compile(loss);
  Optimizer optimizer(net->parameters(), settings);
  for (int step = 0; step < 5; ++step) {
    auto x = torch::randn({6, 4});
    optimizer.zero_grad(/*set_to_none=*/step % 2 == 0);
    (compiled ? fast(x) : loss(x)).backward();
    optimizer.step();
  }
  return {net->parameters(), fast.report().captures};
}

template <class Optimizer, class Settings>
void expect_same_weights(const Settings& settings) {
  const auto expected = weights_after_steps<Optimizer>(false, settings).first;
  const auto [weights, captures] = weights_after_steps<Optimizer>(true, settings);
  EXPECT_EQ(captures, 1U);
  for (size_t i = 0; i < weights.size(); ++i) EXPECT_TRUE(weights[i].equal(expected[i])) << i;
}

TEST(Optimizers, GradientDescent) {
  expect_same_weights<torch::optim::SGD>(torch::optim::SGDOptions(0.1).momentum(0.9));
}
TEST(Optimizers, Adam) { expect_same_weights<torch::optim::Adam>(torch::optim::AdamOptions(0.01)); }
TEST(Optimizers, AdamW) { expect_same_weights<torch::optim::AdamW>(torch::optim::AdamWOptions(0.01)); }

// --- autocast

using Bfloat16 = test::Bfloat16;

auto mixed() {
  return [](const Tensor& x, const Tensor& w) { return at::softmax(at::mm(x, w), 1).pow(2); };
}
auto matrices() { return std::tuple(leaf({4, 8}), leaf({8, 4})); }

/// Eager casts a leaf once and adds the gradients of its uses in bfloat16; compiled code casts at each use.
TEST(Autocast, Inside) {
  trained_like_eager(
      [](const Tensor& x, const Tensor& w) {
        Tensor product;
        {
          Bfloat16 autocast;
          product = at::mm(x, w) + at::mm(x.sin(), w);
        }
        return product.to(at::kFloat).exp();
      },
      matrices);
}

TEST(Autocast, Around) {  // CAP-29
  Bfloat16 autocast;
  trained_like_eager(mixed(), matrices);
}

TEST(Autocast, AroundTheForwardOnly) {
  auto run = [](auto function) {
    test::manual_seed(4);
    auto [x, w] = matrices();
    Tensor out;
    {
      Bfloat16 autocast;
      out = function(x, w);
    }
    out.sum().backward();
    return Tensors{out.detach(), x.grad(), w.grad()};
  };
  const auto expected = run(mixed());
  const auto actual = run(compile(mixed()));
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(test::same(expected[i], actual[i])) << i;
}

TEST(Autocast, OfParametersUsedTwice) {
  Bfloat16 autocast;
  auto net = [] {
    auto w = leaf({4, 4});
    return std::pair([w](const Tensor& x) { return at::mm(at::mm(x, w).tanh(), w).to(at::kFloat); },
                     Tensors{w});
  };
  trained_with_state_like_eager(net, one_leaf);
}

TEST(Autocast, OnAndOffAreTwoCaptures) {
  auto compiled = compile(mixed());
  auto [x, w] = matrices();
  EXPECT_EQ(compiled(x, w).scalar_type(), at::kFloat);
  {
    Bfloat16 autocast;
    compiled(x, w).sum().backward();
  }
  compiled(x, w).sum().backward();
  EXPECT_EQ(compiled.report().captures, 2U);
}

// --- normalisation

TEST(Normalisation, RunningStatisticsOverSteps) {
  auto net = [] {
    nn::BatchNorm2d norm(3);
    return std::pair(
        [norm](const Tensor& x) { return nn::BatchNorm2d(norm)->forward(x).relu(); },
        Tensors{norm->weight, norm->bias, norm->running_mean, norm->running_var, norm->num_batches_tracked});
  };
  trained_with_state_like_eager(net, [] { return std::tuple(leaf({4, 3, 5, 5})); });
}

// --- memory of the backward pass

/// Saves both inputs and a mask that no one else holds.
auto masked() {
  return [](const Tensor& a, const Tensor& b) { return (a.relu() * b).exp().sum(); };
}

TEST(Donation, OfWhatOnlyTheBackwardReads) {
  for (const Policy& policy : {Policy(SaveAll{}), Policy(MinCut{}), Policy(RecomputeAll{})}) {
    TrainingOptions options;
    options.compile.policy = policy;
    trained_like_eager(masked(), two_leaves, options);
  }
}

TEST(Donation, NeverOfInputsAndActivations) {  // PAR-16, PAR-17
  TrainingOptions options;
  options.compile.policy = SaveAll{};
  trained_like_eager(masked(), two_activations, options);
  trained_like_eager([](const Tensor& a) { return (a.view({-1}).relu() * a.view({-1})).sin(); },
                     one_activation, options);
  auto net = [] {
    auto w = leaf({3, 4});
    return std::pair([w](const Tensor& x) { return (x * w).sigmoid() * w; }, Tensors{w});
  };
  trained_with_state_like_eager(net, one_activation, options);
}

TEST(Donation, NotOfAKeptGraph) {  // PAR-18
  TrainingOptions options;
  options.compile.policy = SaveAll{};
  options.finish = [](const Scene& s) {
    s.outputs[0].backward({}, /*retain_graph=*/true);
    s.outputs[0].backward({}, /*retain_graph=*/true);
    s.outputs[0].backward();
  };
  trained_like_eager(masked(), two_leaves, options);
}

TEST(Donation, NotOfACreatedGraph) {  // PAR-18
  TrainingOptions options;
  options.compile.policy = SaveAll{};
  options.finish = [](const Scene& s) {
    auto first = torch::autograd::grad({s.outputs[0]}, {s.inputs[1]}, {}, true, /*create_graph=*/true)[0];
    (first.sum() + s.outputs[0]).backward();
  };
  trained_like_eager(masked(), two_leaves, options);
}

TEST(Donation, NotOfOutputsAlsoSaved) {  // PAR-16
  trained_like_eager(
      [](const Tensor& a) {
        auto b = a.exp();
        return std::tuple(b, b.sigmoid());
      },
      one_leaf, [](const Scene& s) { s.outputs[1].sum().backward(); });
}

// --- individual ops and flags

TEST(Functionalization, OfAMatrixInverse) {  // RNG-14 (functionalization is never off here)
  trained_like_eager([](const Tensor& a) { return at::linalg_inv(a.mm(a.t()) + torch::eye(3)); }, one_leaf);
}

/// Requests deterministic algorithms while it lives.
struct Deterministic {
  Deterministic() { at::globalContext().setDeterministicAlgorithms(true, false); }
  ~Deterministic() { at::globalContext().setDeterministicAlgorithms(false, false); }
};

TEST(DeterministicFlag, SetBetweenForwardAndBackward) {  // RNG-08
  trained_like_eager(
      [](const Tensor& a) {
        return a.index({torch::tensor({0, 1, 0})}).sin();
      },
      one_leaf,
      [](const Scene& s) {
        Deterministic deterministic;
        backward_of_outputs(s);
      });
}

TEST(DeterministicFlag, IsPartOfTheGuard) {  // RNG-08
  auto compiled = compile([](const Tensor& a) { return a.sin().sum(); });
  auto a = leaf({3});
  compiled(a).backward();
  {
    Deterministic deterministic;
    compiled(a).backward();
  }
  compiled(a).backward();
  EXPECT_EQ(compiled.report().captures, 2U);
  EXPECT_TRUE(a.grad().allclose(3 * a.detach().cos()));
}

// --- user policies

TEST(UserPolicies, AreAskedAndObeyed) {  // PAR-04
  size_t asked = 0;
  Options options;
  options.policy =
      UserPolicy{"keep-tanh", [&](const Candidate& candidate) {
                   ++asked;
                   return candidate.op.find("tanh") != std::string::npos ? Keep::Save : Keep::Recompute;
                 }};
  auto compiled = compile([](const Tensor& a) { return (a * 2).tanh().sin().sum(); }, options);
  auto a = leaf({64});
  compiled(a).backward();
  EXPECT_GT(asked, 0U);
  EXPECT_EQ(compiled.backward_graph().find("aten.tanh("), std::string::npos) << compiled.backward_graph();
  auto b = a.detach().clone().requires_grad_();
  (b * 2).tanh().sin().sum().backward();
  EXPECT_TRUE(a.grad().allclose(b.grad()));
}

TEST(Backwards, AreCapturedWhereGradientsAreWanted) {
  auto compiled = compile([](const Tensor& a) { return a.sin(); });
  auto a = leaf({3});
  compiled(a);
  EXPECT_NE(compiled.backward_graph(), "");
  at::NoGradGuard no_grad;
  auto inference = compile([](const Tensor& x) { return x.sin(); });
  inference(a);
  EXPECT_EQ(inference.backward_graph(), "");  // CAP-18, SUB-16
}

}  // namespace
}  // namespace antegrad::test
