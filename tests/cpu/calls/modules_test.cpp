// torch::nn modules: what is watched, what a lambda hides, and whole networks.
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <optional>

#include "support/same_as_eager.h"
#include "support/seeds.h"

namespace antegrad::test {
namespace {

using at::Tensor;

struct GatedImpl : torch::nn::Module {
  GatedImpl() {
    linear = register_module("linear", torch::nn::Linear(4, 4));
    gate = register_parameter("gate", torch::full({4}, 0.5));
    seen = register_buffer("seen", torch::zeros({1}));
  }
  Tensor forward(const Tensor& x) {
    if (is_training()) seen.add_(1);
    auto h = linear->forward(x) * gate;
    return extra ? extra->forward(h) : h;
  }
  torch::nn::Linear linear{nullptr};
  torch::nn::Linear extra{nullptr};
  Tensor gate, seen;
};
TORCH_MODULE(Gated);

class Modules : public ::testing::Test {
 protected:
  torch::NoGradGuard no_grad_;
  Tensor x_ = torch::randn({3, 4});
};

TEST_F(Modules, LinearAndSequential) {  // CAP-09
  torch::nn::Linear linear(4, 2);
  auto compiled = compile(linear);
  EXPECT_TRUE(same(linear->forward(x_), compiled(x_)));
  EXPECT_TRUE(contains(compiled.graph(), "weight"));  // parameters keep their names
  torch::nn::Sequential net(torch::nn::Linear(4, 8), torch::nn::ReLU(), torch::nn::Linear(8, 2));
  auto whole = compile(net);
  for (int call = 0; call < 2; ++call) EXPECT_TRUE(same(net->forward(x_), whole(x_)));
  EXPECT_EQ(whole.report().captures, 1u);
  for (const auto& p : net->parameters()) p.mul_(0.5);  // an optimizer step needs no recapture
  EXPECT_TRUE(same(net->forward(x_), whole(x_)));
  EXPECT_EQ(whole.report().captures, 1u);
}

TEST_F(Modules, SeveralArgumentsAndResults) {
  torch::nn::LSTM lstm(4, 5);
  torch::nn::Bilinear bilinear(4, 4, 2);
  auto y = torch::randn({3, 4});
  EXPECT_TRUE(same(bilinear->forward(x_, y), compile(bilinear)(x_, y)));
  auto compiled = compile(lstm);
  auto sequence = torch::randn({6, 3, 4});
  auto eager = lstm->forward(sequence);
  auto out = compiled(sequence);
  EXPECT_TRUE(same(std::get<0>(eager), std::get<0>(out)));
  EXPECT_TRUE(same(std::get<0>(std::get<1>(eager)), std::get<0>(std::get<1>(out))));
  EXPECT_TRUE(same(std::get<1>(std::get<1>(eager)), std::get<1>(std::get<1>(out))));
}

TEST_F(Modules, InSharedPointers) {
  auto net = std::make_shared<torch::nn::LinearImpl>(3, 2);
  auto compiled = compile(net);
  auto x = torch::randn({4, 3});
  EXPECT_TRUE(same(net->forward(x), compiled(x)));
  net->train(false);
  compiled(x);
  EXPECT_EQ(compiled.report().captures, 2u);
}

TEST_F(Modules, TrainingFlagIsWatched) {
  Gated net;
  auto compiled = compile(net);
  EXPECT_TRUE(same(net->forward(x_), compiled(x_)));
  EXPECT_EQ(net->seen.item<float>(), 2);
  net->eval();
  EXPECT_TRUE(same(net->forward(x_), compiled(x_)));
  EXPECT_EQ(net->seen.item<float>(), 2);
  EXPECT_EQ(last_reason(compiled), "module '<root>': training was true and is false");
  net->linear->train();
  compiled(x_);
  EXPECT_EQ(last_reason(compiled), "module 'linear': training was false and is true");
  net->train();
  compiled(x_);  // the first version serves again
  EXPECT_EQ(compiled.report().captures, 3u);
  EXPECT_EQ(net->seen.item<float>(), 3);
}

TEST_F(Modules, ParametersAreWatched) {
  Gated net;
  net->eval();
  auto compiled = compile(net);
  compiled(x_);
  auto old_linear = net->linear;  // keeps it alive, so that only watching detects the replacement
  net->unregister_module("linear");
  net->linear = net->register_module("linear", torch::nn::Linear(4, 4));
  EXPECT_TRUE(same(net->forward(x_), compiled(x_)));
  EXPECT_TRUE(contains(last_reason(compiled), "submodule 'linear' is another one"));
  net->extra = net->register_module("extra", torch::nn::Linear(4, 2));
  EXPECT_TRUE(same(net->forward(x_), compiled(x_)));
  EXPECT_TRUE(contains(last_reason(compiled), "was added or removed"));
}

TEST_F(Modules, ReplacedParametersAreWatched) {
  struct OpenImpl : torch::nn::Module {
    OpenImpl() { weight = register_parameter("weight", torch::ones({4})); }
    Tensor forward(const Tensor& x) { return x * weight; }
    void replace(const Tensor& with) { weight = parameters_["weight"] = with; }
    Tensor weight;
  };
  torch::nn::ModuleHolder<OpenImpl> net;
  auto compiled = compile(net);
  compiled(x_);
  auto old_weight = net->weight;  // stays alive
  net->replace(torch::full({4}, 3.0));
  EXPECT_TRUE(same(x_ * 3, compiled(x_)));
  EXPECT_EQ(last_reason(compiled), "module '<root>': 'weight' is another tensor");
  net->replace(old_weight);
  EXPECT_TRUE(same(x_, compiled(x_)));
  EXPECT_EQ(compiled.report().captures, 2u);
}

TEST_F(Modules, MovedParametersAreWatched) {
  Gated net;
  net->eval();
  auto compiled = compile(net);
  compiled(x_);
  net->to(at::kDouble);
  auto wide = x_.to(at::kDouble);
  EXPECT_TRUE(same(net->forward(wide), compiled(wide)));
  net->to(at::kFloat);
  EXPECT_TRUE(same(net->forward(x_), compiled(x_)));
  EXPECT_EQ(compiled.report().captures, 2u);
}

TEST_F(Modules, FrozenParametersAreWatched) {
  Gated net;
  auto compiled = compile(net);
  compiled(x_);
  net->linear->weight.set_requires_grad(false);
  EXPECT_TRUE(same(net->forward(x_), compiled(x_)));
  EXPECT_TRUE(contains(last_reason(compiled), "requires_grad"));
}

// Every training step gives the parameters a new .grad. There are more evaluations than versions are allowed.
TEST_F(Modules, EvaluationBetweenStepsIsCapturedOnce) {
  torch::nn::Linear net(4, 2);
  torch::optim::SGD optimizer(net->parameters(), 0.1);
  auto compiled = compile(net);
  std::vector<Tensor> alive;  // so that no address is reused
  for (int epoch = 0; epoch < 20; ++epoch) {
    {
      torch::AutoGradMode on(true);
      optimizer.zero_grad();
      net->forward(x_).sum().backward();
      optimizer.step();
    }
    alive.push_back(net->weight.grad());
    EXPECT_TRUE(same(net->forward(x_), compiled(x_)));
  }
  EXPECT_EQ(compiled.report().captures, 1u);
  optimizer.zero_grad();  // now .grad is undefined, which a function could check
  EXPECT_TRUE(same(net->forward(x_), compiled(x_)));
  EXPECT_EQ(compiled.report().captures, 2u);
}

TEST_F(Modules, WatchBesideALambda) {
  Gated net;
  torch::nn::Dropout dropout(0.5);
  Options options;
  options.watch = {net.ptr(), dropout.ptr()};
  options.rng = Rng::Eager;
  auto f = [&](const Tensor& x) { return dropout->forward(net->forward(x)) + 1; };
  auto compiled = compile(f, options);
  auto both = [&] {
    test::manual_seed(1);
    auto eager = f(x_);
    test::manual_seed(1);
    EXPECT_TRUE(same(eager, compiled(x_)));
  };
  both();
  dropout->eval();
  both();
  net->eval();
  both();
  EXPECT_EQ(compiled.report().captures, 3u);
  net->train();
  dropout->train();
  both();
  EXPECT_EQ(compiled.report().captures, 3u);
}

TEST_F(Modules, HiddenInALambdaTheyAreNotSeen) {
  torch::nn::Dropout dropout(0.5);
  auto f = [&](const Tensor& x) { return dropout->forward(x); };
  dropout->eval();
  auto compiled = compile(f);
  EXPECT_TRUE(same(x_, compiled(x_)));
  dropout->train();
  EXPECT_TRUE(same(x_, compiled(x_)));  // the main pitfall: eager would drop elements
  EXPECT_EQ(compiled.report().captures, 1u);

  Options options;
  options.check_recapture = true;
  options.name = "hidden";
  dropout->eval();
  auto checked = compile(f, options);
  checked(x_);
  checked(x_);
  dropout->train();
  try {
    checked(x_);
    FAIL() << "nothing was found";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::GraphChanged);
    EXPECT_TRUE(contains(error.what(), "'hidden' does something else than when it was captured"));
    EXPECT_TRUE(contains(error.what(), "Options::watch"));
  }
}

TEST_F(Modules, CompiledModulesInsideCompiledFunctions) {
  torch::nn::Linear linear(4, 4);
  auto inner = compile(linear);
  auto outer = compile([&](const Tensor& x) { return inner(x).relu() + inner(x * 2); });
  EXPECT_TRUE(same(linear->forward(x_).relu() + linear->forward(x_ * 2), outer(x_)));
  EXPECT_EQ(inner.report().calls, 0u);
  EXPECT_EQ(outer.report().captures, 1u);
}

TEST_F(Modules, SharedAndNestedModules) {
  torch::nn::Linear shared(4, 4);
  torch::nn::Sequential net(shared, torch::nn::Tanh(), shared);
  auto compiled = compile(net);
  EXPECT_TRUE(same(net->forward(x_), compiled(x_)));
  shared->eval();
  EXPECT_TRUE(same(net->forward(x_), compiled(x_)));
  EXPECT_TRUE(contains(last_reason(compiled), "module '0'"));
}

TEST_F(Modules, AHiddenModuleThatIsReplaced) {
  torch::nn::Linear net(4, 1);
  auto compiled = compile([&](const Tensor& x) { return net->forward(x); });
  for (int fold = 0; fold < 4; ++fold) {
    EXPECT_TRUE(same(net->forward(x_), compiled(x_)));
    net = torch::nn::Linear(4, 1);
  }
}

TEST_F(Modules, OwnersThatAWatchedModuleLosesAreNoReplacement) {
  torch::nn::Linear net(4, 1);
  std::optional<Options> options(std::in_place);
  options->watch = {net.ptr()};
  auto compiled = compile([&](const Tensor& x) { return net->forward(x); }, *options);
  compiled(x_);
  options.reset();
  for (int call = 0; call < 3; ++call) EXPECT_TRUE(same(net->forward(x_), compiled(x_)));
  EXPECT_EQ(compiled.report().captures, 1u);
  net->eval();
  EXPECT_TRUE(same(net->forward(x_), compiled(x_)));
  EXPECT_EQ(compiled.report().captures, 2u);
}

/// A submodule that is replaced but not registered.
TEST_F(Modules, AWatchedPartThatIsReplaced) {
  Gated net;
  auto compiled = compile(net);
  EXPECT_TRUE(same(net->forward(x_), compiled(x_)));
  net->linear = torch::nn::Linear(4, 4);
  EXPECT_TRUE(same(net->forward(x_), compiled(x_)));
  EXPECT_TRUE(contains(last_reason(compiled), "module 'linear': it has fewer owners than before"));
}

}  // namespace
}  // namespace antegrad::test
