// Whole functions from the cache: what hits, what misses, and that results equal those of the compiled
// function.
#include <antegrad/control.h>

#include "cache_fixture.h"
#include "compiler/cache/kernel_cache.h"
#include "support/seeds.h"

namespace antegrad::test {
namespace {

using at::Tensor;
using Tensors = std::vector<Tensor>;

Tensor network(const Tensors& x) {
  const auto h = at::gelu(at::mm(x[0], x[1]) + x[2]);
  return (at::softmax(h, 1) * h.sin() + at::layer_norm(h, {h.size(1)})).pow(2).mean();
}

Tensors network_inputs() { return {torch::randn({7, 12}), torch::randn({12, 9}), torch::randn({9})}; }

using CacheFunctions = CacheTest;

// AOC-01, GCC-01
TEST_F(CacheFunctions, TheSecondCompilationHits) {
  const auto inputs = network_inputs();
  const auto expected = train(network, inputs);
  const auto first = compile(network);
  const auto made = train(first, inputs);
  EXPECT_EQ(first.report().cache, counts(0, 2)) << "forward and backward";
  ASSERT_TRUE(flush_cache());

  const auto compiled_before = compiler::kernel_counts().compiled;
  const auto second = compile(network);
  const auto loaded = train(second, inputs);
  EXPECT_EQ(second.report().cache, counts(2, 0));
  EXPECT_EQ(compiler::kernel_counts().compiled, compiled_before);
  EXPECT_EQ(second.report().cache_keys, first.report().cache_keys);
  EXPECT_GT(second.report().cache_seconds_saved_forward, 0);
  EXPECT_GT(second.report().cache_seconds_saved_backward, 0);
  expect_same(expected, made);
  expect_identical(made, loaded);
}

// AOC-10
TEST_F(CacheFunctions, RegionsAreFoundInACacheThatMustHaveThem) {
  const auto scaled_by = [](double scale) {
    return [scale](const Tensor& x) {
      return region(
          "waves", [scale](const Tensor& x) { return x.sin().exp() * scale; }, x);
    };
  };
  const auto x = torch::ones({3, 5}, torch::kF64).requires_grad_();
  const auto gradient = [&](const auto& f) { return torch::autograd::grad({f(x).sum()}, {x})[0]; };
  Options options;
  for (const auto cache : {Cache::On, Cache::Strict}) {
    options.cache = cache;
    EXPECT_TRUE(torch::allclose(gradient(compile(scaled_by(17), options)), gradient(scaled_by(17))));
  }
  const auto changed = compile(scaled_by(18), options);
  try {
    changed(x);
    ADD_FAILURE() << "found the code of another region";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::CacheMiss) << error.what();
  }
}

TEST_F(CacheFunctions, TextsAreTheSameOnAHit) {
  const auto inputs = network_inputs();
  const auto first = compile(network);
  const auto second = compile(network);
  train(first, inputs);
  train(second, inputs);
  ASSERT_EQ(second.report().cache.hits, 2u);
  EXPECT_EQ(first.graph(), second.graph());
  EXPECT_EQ(first.forward_graph(), second.forward_graph());
  EXPECT_EQ(first.backward_graph(), second.backward_graph());
  EXPECT_EQ(first.partition(), second.partition());
  EXPECT_EQ(first.signature(), second.signature());
  EXPECT_EQ(first.explain(inputs).decisions, second.explain(inputs).decisions);
}

TEST_F(CacheFunctions, AnInferenceCallIsAnEntryOfItsOwn) {
  const auto inputs = network_inputs();
  for (const bool known : {false, true}) {
    const auto compiled = compile(network);
    const auto value = compiled(inputs);
    EXPECT_TRUE(at::allclose(value, network(inputs), 1e-5, 1e-6));
    EXPECT_EQ(compiled.report().cache, counts(known ? 1 : 0, known ? 0 : 1));
    train(compiled, inputs);
    EXPECT_EQ(compiled.report().cache, counts(known ? 3 : 0, known ? 0 : 3));
  }
}

// AOC-04, ALI-03 (the tests cache_replay_… run all aliasing cases a second time)
TEST_F(CacheFunctions, ViewsOfInputsAndWritesAreRebuilt) {
  const auto function = [](const Tensor& x, const Tensor& y) {
    y.mul_(2);
    return std::make_pair(x.t(), x * y.sum());
  };
  for (int round = 0; round < 3; ++round) {
    const auto compiled = compile(function);
    for (int call = 0; call < 2; ++call) {
      const auto x = torch::randn({3, 4}).set_requires_grad(true);
      const auto y = torch::ones({4});
      const auto [view, product] = compiled(x, y);
      EXPECT_TRUE(view._base().is_same(x));
      EXPECT_TRUE(at::equal(y, torch::full({4}, 2.0)));
      EXPECT_EQ(y._version(), 1);
      EXPECT_TRUE(at::allclose(product, x * 8));
    }
    EXPECT_EQ(compiled.report().cache.hits, round == 0 ? 0u : 1u);
  }
}

// AOC-08
TEST_F(CacheFunctions, ValuesOfParametersDoNotMatter) {
  struct Net : torch::nn::Module {
    torch::nn::Linear linear{nullptr};
    Net() { linear = register_module("linear", torch::nn::Linear(4, 3)); }
    Tensor forward(const Tensor& x) { return torch::tanh(linear(x)) * 2; }
  };
  const auto x = torch::randn({5, 4});
  for (const bool known : {false, true}) {
    const auto net = std::make_shared<Net>();  // other weights each time
    const auto compiled = compile([net](const Tensor& input) { return net->forward(input); });
    EXPECT_TRUE(at::allclose(compiled(x), net->forward(x), 1e-5, 1e-6));
    EXPECT_EQ(compiled.report().cache.hits, known ? 1u : 0u);
    {
      torch::NoGradGuard no_grad;
      net->linear->weight.fill_(0.5);
    }
    EXPECT_TRUE(at::allclose(compiled(x), net->forward(x), 1e-5, 1e-6));
  }
}

TEST_F(CacheFunctions, RandomNumbersComeFromTheGenerator) {
  const auto function = [](const Tensor& x) { return at::dropout(x, 0.5, true) * 2; };
  const auto x = torch::ones({64, 64});
  Tensors drawn;
  for (int round = 0; round < 2; ++round) {
    const auto compiled = compile(function);
    test::manual_seed(11);
    drawn.push_back(compiled(x));
    drawn.push_back(compiled(x));
    EXPECT_EQ(compiled.report().cache.hits, static_cast<uint64_t>(round));
  }
  EXPECT_TRUE(at::equal(drawn[0], drawn[2]));
  EXPECT_TRUE(at::equal(drawn[1], drawn[3]));
  EXPECT_FALSE(at::equal(drawn[0], drawn[1]));
}

TEST_F(CacheFunctions, DerivativesOfHigherOrderAreCachedToo) {
  const auto cube = [](const Tensor& x) { return (x.sin() * x * x).sum(); };
  for (const bool known : {false, true}) {
    const auto compiled = compile(cube);
    const auto x = torch::linspace(-2, 2, 9).set_requires_grad(true);
    const auto first = torch::autograd::grad({compiled(x)}, {x}, {}, true, true)[0];
    const auto second = torch::autograd::grad({first.sum()}, {x})[0];
    const auto eager_first = torch::autograd::grad({cube(x)}, {x}, {}, true, true)[0];
    const auto eager_second = torch::autograd::grad({eager_first.sum()}, {x})[0];
    EXPECT_TRUE(at::allclose(first, eager_first, 1e-5, 1e-5));
    EXPECT_TRUE(at::allclose(second, eager_second, 1e-5, 1e-5));
    EXPECT_EQ(compiled.report().cache.misses == 0, known);
  }
}

TEST_F(CacheFunctions, BackendsWithoutKernelsAreCached) {
  Options options;
  options.backend = Backend::Eager;
  const auto inputs = network_inputs();
  const auto expected = train(network, inputs);
  for (const bool known : {false, true}) {
    const auto compiled = compile(network, options);
    expect_identical(expected, train(compiled, inputs));
    EXPECT_EQ(compiled.report().cache, known ? counts(2, 0) : counts(0, 2));
  }
}

TEST_F(CacheFunctions, OffNeitherLooksNorStores) {
  Options options;
  options.cache = Cache::Off;
  for (int round = 0; round < 2; ++round) {
    const auto compiled = compile(network, options);
    train(compiled, network_inputs());
    EXPECT_EQ(compiled.report().cache, counts(0, 0));
  }
  EXPECT_TRUE(flush_cache());
  EXPECT_EQ(export_cache(), "");
}

// ERR-19
TEST_F(CacheFunctions, StrictThrowsInsteadOfCompiling) {
  Options options;
  options.name = "network";
  const auto inputs = network_inputs();
  train(compile(network, options), inputs);
  ASSERT_TRUE(flush_cache());

  options.cache = Cache::Strict;
  const auto known = compile(network, options);
  train(known, inputs);
  EXPECT_EQ(known.report().cache, counts(2, 0));

  options.policy = SaveAll{};
  try {
    train(compile(network, options), inputs);
    FAIL() << "compiled";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::CacheMiss);
    const std::string text = error.what();
    EXPECT_NE(text.find("'network' is not in the cache"), std::string::npos) << text;
    EXPECT_NE(text.find("- policy min-cut"), std::string::npos) << text;
    EXPECT_NE(text.find("+ policy save all"), std::string::npos) << text;
  }
}

// AOC-27, AOC-18, ERR-19
TEST_F(CacheFunctions, PoliciesTakePartByTheirId) {
  const auto inputs = network_inputs();
  const auto outcome = [&](const std::string& id, Cache cache = Cache::On) {
    Options options;
    options.cache = cache;
    options.policy = UserPolicy{id, [](const Candidate&) { return Keep::Auto; }};
    const auto compiled = compile(network, options);
    train(compiled, inputs);
    return compiled.report();
  };
  EXPECT_EQ(outcome("a").cache, counts(0, 2));
  EXPECT_EQ(outcome("a").cache, counts(2, 0));
  EXPECT_EQ(outcome("b").cache, counts(0, 2));
  const auto without = outcome("");
  EXPECT_EQ(without.cache.bypasses, 1u);
  EXPECT_EQ(without.cache.hits + without.cache.misses, 0u);
  ASSERT_EQ(without.cache_reasons.size(), 1u);
  EXPECT_EQ(without.cache_reasons[0], "the user's policy has no id");
  try {
    outcome("", Cache::Strict);
    FAIL() << "compiled";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::CacheMiss);
    EXPECT_NE(std::string(error.what()).find("the user's policy has no id"), std::string::npos);
  }
}

// GCC-03
TEST_F(CacheFunctions, AnEmptiedDirectoryMisses) {
  const auto inputs = network_inputs();
  train(compile(network), inputs);
  ASSERT_TRUE(flush_cache());
  std::filesystem::remove_all(directory());
  const auto compiled = compile(network);
  train(compiled, inputs);
  EXPECT_EQ(compiled.report().cache, counts(0, 2));
  ASSERT_TRUE(flush_cache());
  const auto again = compile(network);
  train(again, inputs);
  EXPECT_EQ(again.report().cache, counts(2, 0));
}

// AOC-03
TEST_F(CacheFunctions, WithoutADirectoryItIsABypass) {
  std::filesystem::create_directories(folder() / "open");
  std::filesystem::permissions(folder() / "open", std::filesystem::perms::all);
  use(folder() / "open");
  const auto compiled = compile(network);
  const auto inputs = network_inputs();
  expect_same(train(network, inputs), train(compiled, inputs));
  EXPECT_EQ(compiled.report().cache.bypasses, 1u);
  ASSERT_EQ(compiled.report().cache_reasons.size(), 1u);
  EXPECT_NE(compiled.report().cache_reasons[0].find("open"), std::string::npos);
  EXPECT_EQ(cache_report().directory, "");
}

// AOC-30, GCC-21, GCC-22
TEST_F(CacheFunctions, ABundleCarriesWhatAProcessUsed) {
  EXPECT_EQ(export_cache(), "");
  const auto inputs = network_inputs();
  train(compile(network), inputs);
  const auto bundle = export_cache();
  ASSERT_FALSE(bundle.empty());

  use(folder() / "elsewhere");
  const auto without = compile(network);
  train(without, inputs);
  EXPECT_EQ(without.report().cache, counts(0, 2));

  use(folder() / "third");
  const auto imported = import_cache(bundle);
  EXPECT_GT(imported.imported, 2u);
  EXPECT_TRUE(imported.reasons.empty()) << imported.reasons.front();
  const auto compiled = compile(network);
  train(compiled, inputs);
  EXPECT_EQ(compiled.report().cache, counts(2, 0));

  use(folder() / "fourth");
  auto damaged = bundle;
  damaged[damaged.size() / 2] ^= 1;
  const auto refused = import_cache(damaged);
  EXPECT_EQ(refused.imported, 0u);
  EXPECT_EQ(refused.reasons.size(), 1u);
}

}  // namespace
}  // namespace antegrad::test
