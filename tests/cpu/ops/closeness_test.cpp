// Tests of the comparison itself: what it must detect, and what it must accept.
#include <antegrad/grad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <limits>

#include "support/closeness.h"
#include "support/rounding.h"

namespace antegrad::test {
namespace {

using at::Tensor;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor numbers(std::vector<double> values, at::ScalarType type = at::kFloat) {
  return torch::tensor(at::ArrayRef<double>(values), at::kDouble).to(type);
}

Tensor random(at::IntArrayRef sizes, uint64_t seed, at::ScalarType type = at::kFloat) {
  return at::randn(sizes, at::detail::createCPUGenerator(seed), at::kDouble).to(type);
}

TEST(Closeness, AnErrorOfASmallElementNextToALargeOne) {
  const auto eager = numbers({1e6, 1e-3, 2});
  EXPECT_TRUE(up_to_rounding(eager, numbers({1e6, 1e-3, 2})));
  EXPECT_TRUE(up_to_rounding(eager, numbers({1000000.0625, 1e-3 * (1 + 1e-6), 2})));
  EXPECT_FALSE(up_to_rounding(eager, numbers({1e6, 1.01e-3, 2})));
  EXPECT_FALSE(up_to_rounding(eager, numbers({1e6, 0, 2})));
  EXPECT_FALSE(up_to_rounding(eager, numbers({1e6, -1e-3, 2})));
}

TEST(Closeness, NumbersThatAreNone) {
  const auto eager = numbers({std::nan(""), kInfinity, -kInfinity, 3e38});
  EXPECT_TRUE(up_to_rounding(eager, eager.clone()));
  EXPECT_FALSE(up_to_rounding(eager, numbers({1, kInfinity, -kInfinity, 3e38})));
  EXPECT_FALSE(up_to_rounding(eager, numbers({std::nan(""), 3e38, -kInfinity, 3e38})));
  EXPECT_FALSE(up_to_rounding(eager, numbers({std::nan(""), kInfinity, kInfinity, 3e38})));
  EXPECT_FALSE(up_to_rounding(eager, numbers({std::nan(""), kInfinity, -kInfinity, kInfinity})));
  EXPECT_FALSE(up_to_rounding(numbers({1, 2}), numbers({1, std::nan("")})));
}

TEST(Closeness, WholeNumbersAndComplexOnes) {
  EXPECT_FALSE(up_to_rounding(numbers({1000000}, at::kLong), numbers({1000001}, at::kLong)));
  EXPECT_TRUE(up_to_rounding(numbers({7}, at::kLong), numbers({7}, at::kLong)));
  const auto z = at::complex(numbers({1e6, 1e-3}), numbers({0, 1e-3}));
  EXPECT_TRUE(up_to_rounding(z, z * (1 + 1e-6)));
  EXPECT_FALSE(up_to_rounding(z, z + 1e-4));
}

/// Only rounding is left of a sum that cancels; how large it may be follows from the terms.
TEST(Closeness, SumsThatCancel) {
  const auto x = random({4, 1000}, 1);
  const auto terms = at::cat({x, -x.flip(1), numbers({1e-3}).expand({4, 1})}, 1);
  Reference reference([&] { return Tensors{terms.clone().sum(1)}; });
  Tensor one_by_one = at::zeros({4});
  for (int64_t i = 0; i < terms.size(1); ++i) one_by_one += terms.select(1, i);
  EXPECT_FALSE(up_to_relative_rounding(reference.values()[0], one_by_one));
  EXPECT_EQ(reference.difference(0, one_by_one).value_or(""), "");
  EXPECT_EQ(reference.difference(0, terms.to(at::kDouble).sum(1).to(at::kFloat)).value_or(""), "");
  EXPECT_NE(reference.difference(0, one_by_one + 1e-2), std::nullopt);
}

/// Each element has its own bound, even beside elements that lost all their digits.
TEST(Closeness, WhatOneElementLostAnotherMayNot) {
  const auto x = random({1000}, 2);
  const auto program = [&](const Tensor& t) {
    return at::stack({(t + 1e4 - 1e4).sum(), t.square().sum() * 1e-4, t.slice(0, 0, 2).prod()});
  };
  Reference reference([&] { return Tensors{program(x.clone())}; });
  const auto exact = program(x.to(at::kDouble)).to(at::kFloat);
  EXPECT_FALSE(up_to_rounding(reference.values()[0], exact));
  EXPECT_EQ(reference.difference(0, exact).value_or(""), "");
  for (const int64_t wrong : {1, 2}) {
    auto off = exact.clone();
    off[wrong] *= 1.001;
    EXPECT_NE(reference.difference(0, off), std::nullopt) << wrong;
  }
}

TEST(Closeness, Gradients) {
  const auto run = [](const Tensor& at) {
    const auto x = at.detach().clone().requires_grad_(true);
    const auto y = at::layer_norm(x + 100, {x.size(1)}).pow(3).sum() + x.select(1, 0).sum();
    return torch::autograd::grad({y}, {x});
  };
  const auto x = random({3, 16}, 3);
  Reference reference([&] { return run(x); });
  const auto wide = run(x.to(at::kDouble))[0].to(at::kFloat);
  EXPECT_EQ(reference.difference(0, wide).value_or(""), "");
  EXPECT_NE(reference.difference(0, wide + 0.05), std::nullopt);
}

/// Compiled code does not round half types between ops.
TEST(Closeness, ShortTypes) {
  for (const auto type : {at::kHalf, at::kBFloat16}) {
    const auto x = random({64}, 4, type);
    const auto program = [](const Tensor& t) { return ((t * 1.5 + 0.25).exp() - 1).tanh() * t; };
    Reference reference([&] { return Tensors{program(x.clone())}; });
    const auto wide = program(x.to(at::kFloat)).to(type);
    EXPECT_EQ(reference.difference(0, wide).value_or(""), "") << type;
    EXPECT_NE(reference.difference(0, wide * 1.25), std::nullopt) << type;
  }
}

TEST(Closeness, WhatJumps) {
  const auto x = numbers({0.1, 0.3, 7});
  const auto program = [](const Tensor& t) {
    return at::floor(t * 10) + 0.5;
  };  // 0.3 * 10 is 3 or slightly less
  Reference reference([&] { return Tensors{program(x.clone())}; });
  EXPECT_EQ(reference.difference(0, program(x.to(at::kDouble)).to(at::kFloat)).value_or(""), "");
  EXPECT_EQ(reference.difference(0, numbers({1.5, 2.5, 70.5})).value_or(""), "");
  EXPECT_NE(reference.difference(0, numbers({1.5, 6.5, 70.5})), std::nullopt);
}

/// Writes round too.
TEST(Closeness, InPlaceOps) {
  const auto x = random({100}, 5), y = random({100}, 6);
  const auto program = [](Tensor a, const Tensor& b) { return a.mul_(b).sub_(a.detach() * 0.999999); };
  Reference reference([&] { return Tensors{program(x.clone(), y)}; });
  const auto wide = program(x.to(at::kDouble), y.to(at::kDouble)).to(at::kFloat);
  EXPECT_FALSE(up_to_relative_rounding(reference.values()[0], wide));
  EXPECT_EQ(reference.difference(0, wide).value_or(""), "");
  EXPECT_NE(reference.difference(0, wide + 1e-4), std::nullopt);
}

/// Here only the backward pass rounds. It is perturbed also where backward passes are compiled.
TEST(Closeness, BackwardPassesWithCompiledAutograd) {
  const auto x = random({50}, 8), tangent = random({50}, 9);
  const auto gradient = [&] {
    const auto t = x.clone().requires_grad_(true);
    return torch::autograd::grad({t.cumsum(0)}, {t}, {tangent});
  };
  const CompiledAutograd compiled;
  EXPECT_GT(roundings(gradient, gradient())[0].max().item<double>(), 0);
}

TEST(Closeness, ComparisonsOfACheckInSteps) {
  const auto x = random({50}, 7);
  const auto steps = [&](Comparisons& comparisons, const std::function<Tensor(const Tensor&)>& other) {
    const auto first = x.clone() + 1000 - 1000;
    if (auto difference = comparisons.difference(first, other(first))) return "first: " + *difference;
    const auto second = x.clone() * 3;
    if (auto difference = comparisons.difference(second, other(second))) return "second: " + *difference;
    return std::string();
  };
  const auto verdict = [&](const std::function<Tensor(const Tensor&)>& other) {
    Comparisons comparisons(
        [&](Comparisons& repetition) { steps(repetition, [](const Tensor& t) { return t; }); });
    return steps(comparisons, other);
  };
  EXPECT_EQ(verdict([](const Tensor& t) { return t; }), "");
  EXPECT_EQ(verdict([](const Tensor& t) { return t * (1 + 2e-6); }), "");
  const auto off = verdict([](const Tensor& t) { return t + 5e-5; });  // the first step lost more
  EXPECT_TRUE(off.starts_with("second: element")) << off;
}

TEST(Closeness, EqualBitsAreAskedForWhereLibTorchComputes) {
  const auto x = numbers({1, 2});
  if (runs_libtorch_kernels()) EXPECT_FALSE(same_values(x, x * (1 + 2e-7)));
  EXPECT_TRUE(same_values(x, x.clone()));
}

}  // namespace
}  // namespace antegrad::test
