// Several kinds of programs through the cache, and what happens after a hit.
#include <fstream>
#include <functional>
#include <set>

#include "cache_fixture.h"
#include "support/seeds.h"

namespace antegrad::test {
namespace {

using at::Tensor;
using Tensors = std::vector<Tensor>;
using CachePrograms = CacheTest;

struct ConvNet : torch::nn::Module {
  torch::nn::Conv2d first{nullptr}, second{nullptr};
  torch::nn::BatchNorm2d norm{nullptr};
  torch::nn::Linear head{nullptr};
  ConvNet() {
    first = register_module("first", torch::nn::Conv2d(3, 6, 3));
    norm = register_module("norm", torch::nn::BatchNorm2d(6));
    second = register_module("second", torch::nn::Conv2d(6, 4, 3));
    head = register_module("head", torch::nn::Linear(4, 5));
  }
  Tensor forward(const Tensor& x) {
    const auto h = torch::relu(norm(first(x)));
    return head(torch::relu(second(h)).mean({2, 3})).log_softmax(1).pow(2).mean();
  }
};

/// Returns the gradients of three steps.
Tensors train_net(ConvNet& net, const std::function<Tensor(const Tensor&)>& loss) {
  test::manual_seed(2);
  torch::optim::SGD optimizer(net.parameters(), 0.1);
  Tensors gradients;
  for (int step = 0; step < 3; ++step) {
    optimizer.zero_grad();
    loss(torch::randn({2, 3, 8, 8})).backward();
    for (const auto& parameter : net.parameters()) gradients.push_back(parameter.grad().clone());
    optimizer.step();
  }
  return gradients;
}

// GCC-04
TEST_F(CachePrograms, AConvolutionNetHitsWithEqualGradients) {
  test::manual_seed(1);
  const auto start = std::make_shared<ConvNet>();
  std::vector<Tensors> gradients;
  for (int round = 0; round < 3; ++round) {  // eager, compiled, from the cache
    const auto net = std::make_shared<ConvNet>();
    torch::NoGradGuard no_grad;
    for (size_t i = 0; i < net->parameters().size(); ++i) net->parameters()[i].copy_(start->parameters()[i]);
    const c10::AutoGradMode with_grad(true);
    Options options;
    options.watch = {net};
    const auto compiled = compile([net](const Tensor& x) { return net->forward(x); }, options);
    if (round == 0)
      gradients.push_back(train_net(*net, [&](const Tensor& x) { return net->forward(x); }));
    else
      gradients.push_back(train_net(*net, [&](const Tensor& x) { return compiled(x); }));
    EXPECT_EQ(compiled.report().cache, counts(round == 2 ? 2 : 0, round == 1 ? 2 : 0));
  }
  for (size_t i = 0; i < gradients[0].size(); ++i) {
    EXPECT_TRUE(at::allclose(gradients[0][i], gradients[1][i], 1e-4, 1e-6)) << i;
    EXPECT_TRUE(at::equal(gradients[1][i], gradients[2][i])) << i;
  }
}

// AOC-05
TEST_F(CachePrograms, ForwardAndBackwardMayReadDifferentSizes) {
  const auto function = [](const Tensors& x) {
    return (x[0].sum(0) * x[1].size(0) + x[1].cos().sum(0)).sin();
  };
  Options options;
  options.dynamic_sizes = {dynamic(0, 0), dynamic(1, 0)};
  for (const bool known : {false, true}) {
    const auto compiled = compile(function, options);
    for (const auto& [a, b] : {std::pair{3, 7}, std::pair{5, 2}}) {
      const Tensors inputs = {torch::randn({a, 4}), torch::randn({b, 4})};
      expect_same(train(function, inputs), train(compiled, inputs));
    }
    EXPECT_EQ(compiled.report().cache, known ? counts(2, 0) : counts(0, 2));
  }
}

// AOC-23
TEST_F(CachePrograms, StringsInTheGraphCount) {
  const auto with = [](const char* mode) {
    return [mode](const Tensor& x) { return at::div(x, 2.5, mode); };
  };
  const auto x = torch::randn({6}) * 10;
  for (const auto* mode : {"floor", "trunc"}) {
    const auto compiled = compile(with(mode));
    EXPECT_TRUE(at::equal(compiled(x), at::div(x, 2.5, mode)));
    EXPECT_EQ(compiled.report().cache, counts(0, 1));
  }
}

// GCC-09
TEST_F(CachePrograms, SizesOneToFourMakeTwoEntriesThatHitLater) {
  const auto function = [](const Tensor& x) { return x.sin() * 2; };
  for (const bool known : {false, true}) {
    const auto compiled = compile(function);
    for (int64_t size : {2, 3, 4})
      EXPECT_TRUE(at::allclose(compiled(torch::ones({size})), torch::ones({size}).sin() * 2));
    EXPECT_EQ(compiled.report().cache, known ? counts(2, 0) : counts(0, 2));
    ASSERT_TRUE(flush_cache());
  }
}

// GCC-10
TEST_F(CachePrograms, AFailedGuardAfterAHitSpeaksOfTheCall) {
  const auto function = [](const Tensor& x) { return x.sin() * 2; };
  Options options;
  options.dynamic = Dynamic::None;
  compile(function, options)(torch::ones({4}));
  ASSERT_TRUE(flush_cache());
  const auto compiled = compile(function, options);
  compiled(torch::ones({4}));
  compiled(torch::ones({5}));
  ASSERT_EQ(compiled.report().recapture_reasons.size(), 1u);
  EXPECT_NE(compiled.report().recapture_reasons[0].find("tensor 0"), std::string::npos)
      << compiled.report().recapture_reasons[0];
}

Tensor& scale_cpu(Tensor& x, double factor) { return x.mul_(factor); }

TORCH_LIBRARY(antegrad_cached, library) {
  library.def("scale_(Tensor(a!) x, float factor) -> Tensor(a!)");
  library.impl("scale_", c10::DispatchKey::CPU, TORCH_FN(scale_cpu));
}

// GCC-19
TEST_F(CachePrograms, CallsOfMutatingOpsOfLibrariesAreEntriesOfTheirOwn) {
  const auto with = [](double factor) {
    return [factor](Tensor x) {
      const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("antegrad_cached::scale_", "");
      op.typed<Tensor&(Tensor&, double)>().call(x, factor);
      return x.sin();
    };
  };
  for (const bool known : {false, true})
    for (const double factor : {2.0, 3.0}) {
      const auto compiled = compile(with(factor));
      const auto x = torch::ones({5});
      EXPECT_TRUE(at::allclose(compiled(x), torch::full({5}, factor).sin()));
      EXPECT_EQ(x[0].item<float>(), factor);
      EXPECT_EQ(compiled.report().cache, known ? counts(1, 0) : counts(0, 1));
      ASSERT_TRUE(flush_cache());
    }
}

TEST_F(CachePrograms, WritesToInputsAreEntriesOfTheirOwn) {
  const auto with = [](double factor) {
    return [factor](const Tensor& x) {
      x.mul_(factor);
      return x.sum();
    };
  };
  for (const bool known : {false, true})
    for (const double factor : {2.0, 3.0}) {
      const auto compiled = compile(with(factor));
      const auto x = torch::ones({5});
      EXPECT_EQ(compiled(x).item<float>(), 5 * factor);
      EXPECT_EQ(x[0].item<float>(), factor);
      EXPECT_EQ(compiled.report().cache, known ? counts(1, 0) : counts(0, 1));
    }
}

// AOC-09
TEST_F(CachePrograms, InferenceHitsWhileBackwardPassesAreCompiled) {
  const auto function = [](const Tensor& x) { return x.sin() * 2; };
  compile(function)(torch::ones({4}));
  ASSERT_TRUE(flush_cache());
  const CompiledAutograd on;
  const auto compiled = compile(function);
  compiled(torch::ones({4}));
  EXPECT_EQ(compiled.report().cache, counts(1, 0));
}

TEST_F(CachePrograms, SegmentsOfBackwardPassesAreStored) {
  const CompiledAutograd on;
  Tensors gradients;
  for (int round = 0; round < 2; ++round) {
    compiled_autograd::reset();
    const auto before = cache_report().functions;
    const auto x = torch::linspace(0, 1, 5).set_requires_grad(true);
    (x.exp() * x.sin()).sum().backward();
    gradients.push_back(x.grad());
    const auto after = cache_report().functions;
    EXPECT_EQ(after.hits - before.hits, round == 0 ? 0u : 1u);
    EXPECT_EQ(after.misses - before.misses, round == 0 ? 1u : 0u);
    ASSERT_TRUE(flush_cache());
  }
  EXPECT_TRUE(at::equal(gradients[0], gradients[1]));
}

// AOC-29: what cannot be stored is reported, and nothing else changes
TEST_F(CachePrograms, WhatCannotBeWrittenIsSaidOnce) {
  const auto function = [](const Tensor& x) { return x.sin() * 2; };
  compile(function)(torch::ones({4}));
  ASSERT_TRUE(flush_cache());
  std::filesystem::remove_all(directory());
  { std::ofstream file(directory()); }  // a file in place of the directory
  for (int round = 0; round < 2; ++round) {
    const auto compiled = compile(function);
    EXPECT_TRUE(at::allclose(compiled(torch::ones({3})), torch::ones({3}).sin() * 2));
  }
  flush_cache();
  const auto reasons = cache_report().reasons;
  EXPECT_FALSE(reasons.empty());
  EXPECT_EQ(std::set<std::string>(reasons.begin(), reasons.end()).size(), reasons.size());
}

}  // namespace
}  // namespace antegrad::test
