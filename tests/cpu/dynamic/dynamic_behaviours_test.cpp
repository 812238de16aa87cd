// What users observe when sizes change: aliasing, results that are numbers, limits, reports, threads.
#include <ATen/Parallel.h>
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <thread>

#include "support/closeness.h"

namespace antegrad::test {
namespace {

using at::Tensor;
using test::same_values;

/// Tensors are tiny: worker threads would only wait for each other.
const int kThreads = (at::set_num_threads(1), at::get_num_threads());

TEST(DynamicBehaviours, WritesToInputsReachTheCaller) {
  const auto program = [](Tensor x) {
    x.mul_(2).slice(0, 0, x.size(0) / 2).add_(1);
    return x.sum(0);
  };
  auto compiled = compile(program);
  for (int64_t n : {6, 9, 4, 1, 12, 7}) {
    auto a = torch::randn({n, 3}), b = a.clone();
    EXPECT_TRUE(same_values(program(a), compiled(b))) << n;
    EXPECT_TRUE(same_values(a, b)) << n;
    EXPECT_EQ(a._version(), b._version()) << n;
  }
  EXPECT_EQ(compiled.report().captures, 2u);
}

TEST(DynamicBehaviours, ViewsOfInputsAreViews) {
  auto compiled = compile([](const Tensor& x) { return x.slice(0, 1).t(); });
  for (int64_t n : {6, 9, 4, 2}) {
    const auto x = torch::randn({n, 3});
    const auto y = compiled(x);
    EXPECT_TRUE(y.is_alias_of(x));
    EXPECT_EQ(y.sizes(), (std::vector<int64_t>{3, n - 1}));
    EXPECT_EQ(y.storage_offset(), 3);
    EXPECT_TRUE(torch::equal(y, x.slice(0, 1).t()));
  }
  EXPECT_EQ(compiled.report().captures, 2u);
}

TEST(DynamicBehaviours, OverlappingViewsThatAreWrittenAreThoseOfTheCall) {  // ALI-44
  const auto program = [](Tensor a, Tensor b) {
    a.add_(1);
    b.mul_(2);
    return a.sum() + b.sum();
  };
  auto compiled = compile(program);
  for (int64_t n : {6, 9, 4, 7}) {
    const auto base = torch::randn({n}), other = base.clone();
    const auto views = [n](const Tensor& x) {
      return std::make_pair(x.slice(0, 0, n - 1).unsqueeze(0), x.slice(0, 1));
    };
    auto [a, b] = views(base);
    auto [c, d] = views(other);
    EXPECT_TRUE(same_values(program(a, b), compiled(c, d))) << n;
    EXPECT_TRUE(same_values(base, other)) << n;
  }
}

TEST(DynamicBehaviours, NumbersAmongTheResultsAreThoseOfTheCall) {
  auto compiled = compile([](const Tensor& x) { return std::make_pair(x * 2, x.size(0) * 10); });
  for (int64_t n : {6, 9, 4, 6, 9, 4}) {
    const auto [y, number] = compiled(torch::ones({n}));
    EXPECT_EQ(number, n * 10);
    EXPECT_EQ(y.size(0), n);
  }
  EXPECT_EQ(compiled.report().captures, 2u);
}

TEST(DynamicBehaviours, SlicesOfLargerTensors) {
  auto compiled = compile([](const Tensor& x) { return (x * 3).sum(0); });
  for (auto [n, width] :
       std::vector<std::pair<int64_t, int64_t>>{{4, 10}, {6, 10}, {6, 14}, {5, 31}, {9, 77}}) {
    const auto x = torch::randn({n, width}).slice(1, 2, 7);
    EXPECT_TRUE(same_values((x * 3).sum(0), compiled(x))) << n << " " << width;
  }
  EXPECT_LE(compiled.report().captures, 3u);
}

TEST(DynamicBehaviours, WhereInALargerTensorAnInputBeginsDoesNotMatter) {
  const auto data = torch::randn({200, 3});
  const auto program = [](const Tensor& x) { return (x.slice(0, 1) * 2).tanh() + x.select(0, 0); };
  auto compiled = compile(program);
  for (int64_t i = 0; i < 12; ++i) {
    const auto x = data.narrow(0, i * 7, 4 + i * 3 % 11);
    EXPECT_TRUE(same_values(program(x), compiled(x))) << i;
  }
  EXPECT_EQ(compiled.report().captures, 2u);
}

TEST(DynamicBehaviours, AllSizesSymbolicGivesExactlyTheNeededGuards) {  // DYN-02
  const auto weight = torch::randn({3, 4});
  Options options;
  options.dynamic = Dynamic::All;
  auto compiled =
      compile([&](const Tensor& x, const Tensor& y) { return at::linear(x, weight) + y; }, options);
  const auto text = explain(compiled, torch::randn({7, 4}), torch::randn({7, 3}));
  EXPECT_EQ(
      text.guards,
      "s0 >= 1\ntensor 0 size 0 == s0\ntensor 0 size 1 == 4\ntensor 1 size 1 == 3\ntensor 1 size 0 == s0\n");
  EXPECT_NE(text.reasons.find("tensor 0 size 1 is fixed"), std::string::npos) << text.reasons;
}

TEST(DynamicBehaviours, ABackwardPassThatNeedsSizesOnlyKeepsNoTensor) {  // DYN-03
  auto compiled = compile([](const Tensor& x) { return x.sum(0) * 2; });
  for (int64_t n : {5, 6, 9}) {
    auto x = torch::randn({n, 4}, torch::requires_grad());
    compiled(x).sum().backward();
    EXPECT_TRUE(torch::equal(x.grad(), torch::full({n, 4}, 2.0)));
  }
  EXPECT_EQ(compiled.forward_graph().find(" saved"), std::string::npos) << compiled.forward_graph();
}

TEST(DynamicBehaviours, LargeBatchesOnAModelCompiledWithSmallOnes) {  // DYN-08
  auto compiled = compile([](const Tensor& a, const Tensor& b) { return at::bmm(a, b).tanh(); });
  for (int64_t n : {3, 5, 70000}) {
    const auto a = torch::randn({n, 2, 3}), b = torch::randn({n, 3, 2});
    EXPECT_TRUE(same_values(at::bmm(a, b).tanh(), compiled(a, b))) << n;
  }
  EXPECT_EQ(compiled.report().captures, 2u);
}

TEST(DynamicBehaviours, MoreElementsThan32BitsCount) {  // DYN-12
  if (test::runs_libtorch_kernels()) GTEST_SKIP() << "LibTorch writes x + 1 to memory: 24 GiB";
  auto compiled = compile([](const Tensor& x) { return (x + 1).sum(); });
  for (int64_t n : {int64_t{5}, int64_t{7}, int64_t{3} << 30}) {
    const auto x = torch::ones({1}, at::kLong).expand({n});
    EXPECT_EQ(compiled(x).item<int64_t>(), 2 * n);
  }
  EXPECT_EQ(compiled.report().captures, 2u);
}

Tensor potential(const Tensor& positions, const Tensor& pairs, const Tensor& weight) {
  const auto r = positions.index({pairs.select(0, 0)}) - positions.index({pairs.select(0, 1)});
  const auto d = (r * r).sum(-1).clamp_min(1e-6).sqrt();
  return (at::exp(-d.unsqueeze(1)) * weight).tanh().sum();
}

TEST(DynamicBehaviours, AThousandNumbersOfNeighboursAreCompiledTwice) {
  const auto weight = torch::randn({4});
  auto compiled = compile(potential);
  for (int64_t i = 0; i < 1000; ++i) {
    auto positions = torch::rand({20, 3}, at::kDouble).set_requires_grad(true);
    const auto pairs = torch::randint(0, 20, {2, 30 + i * 7 % 1009}, at::kLong);
    const auto energy = compiled(positions, pairs, weight);
    const auto forces = torch::autograd::grad({energy}, {positions})[0];
    if (i % 50 != 0) continue;
    test::Reference reference([&] {  // energies of both signs cancel
      const auto leaf = positions.detach().clone().set_requires_grad(true);
      const auto expected = potential(leaf, pairs, weight);
      return test::Tensors{expected.detach(), torch::autograd::grad({expected}, {leaf})[0]};
    });
    EXPECT_EQ(reference.difference(0, energy.detach()).value_or(""), "") << i;
    EXPECT_EQ(reference.difference(1, forces).value_or(""), "") << i;
  }
  EXPECT_LE(compiled.report().captures, 2u);
}

TEST(DynamicBehaviours, SizesThatAreForgottenAreCapturedAgainNotCompiled) {
  Options options;
  options.max_sizes = 2;
  auto compiled = compile([](const Tensor& x) { return x.cos(); }, options);
  for (int round = 0; round < 3; ++round)
    for (int64_t n : {4, 5, 6, 7, 8}) {
      const auto x = torch::randn({n});
      EXPECT_TRUE(same_values(x.cos(), compiled(x)));
    }
  EXPECT_EQ(compiled.report().captures, 2u);
  EXPECT_GE(compiled.report().sizes, 9u);
}

TEST(DynamicBehaviours, TensorsThatAFunctionPicksBySizeAreThoseOfTheSize) {
  const std::vector<Tensor> biases = {torch::randn({3}), torch::randn({3})};
  const auto program = [&](const Tensor& x) { return x + biases[static_cast<size_t>(x.size(0) % 7 == 0)]; };
  auto compiled = compile(program);
  for (int64_t n : {4, 6, 9, 7, 14, 5, 21}) {
    const auto x = torch::randn({n, 3});
    EXPECT_TRUE(same_values(program(x), compiled(x))) << n;
  }
}

TEST(DynamicBehaviours, TooManyVersionsSayWhichSizeIsFixed) {
  Options options;
  options.max_versions = 3;
  options.drop_versions = false;
  const auto steps = [](const Tensor& x) {
    auto y = x;
    for (int64_t i = 0; i < x.size(0); ++i) y = y.sin();
    return y;
  };
  auto compiled = compile(steps, options);
  try {
    for (int64_t n = 2; n < 9; ++n) compiled(torch::randn({n}));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::TooManyVersions);
    EXPECT_NE(std::string(error.what()).find("tensor 0 size 0 is fixed"), std::string::npos) << error.what();
  }
  options.unsupported = Unsupported::Eager;
  auto lenient = compile(steps, options);
  for (int64_t n = 2; n < 9; ++n) {
    const auto x = torch::randn({n});
    EXPECT_TRUE(same_values(steps(x), lenient(x))) << n;
  }
  EXPECT_EQ(lenient.report().eager_calls, 4u);
}

TEST(DynamicBehaviours, MarksThatNameNoSizeAreRefused) {
  for (const auto& size :
       {dynamic(-1, 0), dynamic(0, -1), dynamic(0, 0, 5, 4), dynamic(0, 0).multiple_of(0)}) {
    Options options;
    options.dynamic_sizes = {size};
    EXPECT_THROW(compile([](const Tensor& x) { return x; }, options), Error);
  }
}

TEST(DynamicBehaviours, ThreadsWithSizesOfTheirOwn) {
  const auto program = [](const Tensor& x) { return at::softmax(x, 0) * x; };
  auto compiled = compile(program);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int64_t i = 0; i < 40; ++i) {
        auto x = torch::randn({3 + (i * 5 + t) % 11, 4}, at::kDouble).set_requires_grad(true);
        const auto y = compiled(x), z = program(x);
        const auto g = torch::autograd::grad({y.pow(2).sum()}, {x})[0];
        const auto h = torch::autograd::grad({z.pow(2).sum()}, {x})[0];
        if (!at::allclose(y, z) || !at::allclose(g, h)) ++wrong;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(compiled.report().captures, 2u);
}

}  // namespace
}  // namespace antegrad::test
