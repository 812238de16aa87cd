// Numbers as arguments: one compilation for the first value, one for all others, and eager's results for
// each.
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <limits>

#include "cache/cache_fixture.h"
#include "support/closeness.h"
#include "support/seeds.h"

namespace antegrad::test {
namespace {

using at::Tensor;

/// Calls both with each number, and compares results and gradients.
template <class F, class T>
Report expect_like_eager(const F& program, const std::vector<T>& numbers, Tensor x = torch::randn({3, 4}),
                         Options options = {}) {
  const auto compiled = compile(program, options);
  if (at::isFloatingType(x.scalar_type())) x.set_requires_grad(true);
  for (auto number : numbers) {
    SCOPED_TRACE(number);
    const auto expected = program(x, number);
    const auto actual = compiled(x, number);
    EXPECT_EQ(expected.scalar_type(), actual.scalar_type());
    EXPECT_EQ(expected.requires_grad(), actual.requires_grad());
    EXPECT_TRUE(same_values(expected, actual)) << expected << actual;
    if (!expected.requires_grad()) continue;
    const auto tangent = torch::ones_like(expected);
    const auto a = torch::autograd::grad({expected}, {x}, {tangent})[0];
    const auto b = torch::autograd::grad({actual}, {x}, {tangent})[0];
    EXPECT_TRUE(same_values(a, b)) << a << b;
  }
  return compiled.report();
}

std::vector<double> many(size_t count, double from = 0.1, double step = 0.013) {
  std::vector<double> out;
  for (size_t i = 0; i < count; ++i) out.push_back(from + step * static_cast<double>(i));
  return out;
}

TEST(NumberArguments, AThousandValuesCostTwoCompilations) {
  const auto report =
      expect_like_eager([](const Tensor& x, double t) { return (x * t + 1).tanh(); }, many(1000));
  EXPECT_EQ(report.captures, 2u);
  EXPECT_EQ(report.sizes, 998u);
  EXPECT_GE(report.forward_checks, 990u);
}

TEST(NumberArguments, AreCheckedByTheForwardPassAlone) {
  const auto loss = [](const Tensor& x, double t) {
    const auto y = at::leaky_relu(x - std::exp(-t), 0.1 * t).clamp(-t, 2 * t);
    return at::huber_loss(at::add(y, x.sin(), t / 3), x.cos() / (1 + t), 1, 0.3 + t);
  };
  const auto report = expect_like_eager(loss, many(60));
  EXPECT_EQ(report.captures, 2u);
  EXPECT_GE(report.forward_checks, 45u);
}

TEST(NumberArguments, ThatDerivativesComputeWithAreCapturedWhole) {
  const auto x = torch::rand({4, 5}) + 0.1;
  const auto check = [&](const char* name, const std::function<Tensor(const Tensor&, double)>& program,
                         bool whole = true) {
    SCOPED_TRACE(name);
    const auto report = expect_like_eager(program, many(12, 0.2, 0.31), x.clone());
    EXPECT_TRUE(report.forward_checks == 0 || !whole);
  };
  check("pow", [](const Tensor& a, double t) { return a.pow(t); });
  check("pow of a number", [](const Tensor& a, double t) { return at::pow(t, a); });
  check("lerp", [](const Tensor& a, double t) { return at::lerp(a, a.sin(), t); });
  check("norm", [](const Tensor& a, double t) { return a.norm(0.3 + t); });
  check(
      "celu", [](const Tensor& a, double t) { return at::celu(a - 0.5, t); }, false);
}

/// b is a - 1, which is the exponent in the derivative of pow, until it is not.
TEST(NumberArguments, EqualByChanceToANumberOfTheBackwardPass) {
  const auto program = [](const Tensor& x, double a, double b) { return x.pow(a) * b; };
  const auto compiled = compile(program);
  const auto x = (torch::rand({4}) + 0.1).requires_grad_();
  for (int i = 0; i < 24; ++i) {
    const auto a = 2.5 + 0.1 * i, b = i < 12 ? a - 1 : a + 0.05 * i;
    const auto expected = program(x, a, b), actual = compiled(x, a, b);
    EXPECT_TRUE(same_values(expected, actual)) << i;
    EXPECT_TRUE(same_values(torch::autograd::grad({expected.sum()}, {x})[0],
                            torch::autograd::grad({actual.sum()}, {x})[0]))
        << i;
  }
}

TEST(NumberArguments, ThatBecomeSpecialLater) {
  const auto inf = std::numeric_limits<double>::infinity();
  auto numbers = many(12, 0.2, 0.07);
  for (double special : {0.0, -0.0, 1.0, -1.0, 2.0, inf, -inf, std::nan(""), -0.3, 5.0, 1e-320, 3e4})
    numbers.push_back(special);
  const auto scaled = [](const Tensor& x, double t) { return at::add(x, x.sin(), t) * t + x / t; };
  const auto clamped = [](const Tensor& x, double t) { return at::clamp(x * 3, t, 2 * t) * t; };
  const auto mixed = [](const Tensor& x, double t) {
    return at::huber_loss(x * t, x, 1, std::fmax(0.1, std::abs(t)));
  };
  for (auto dtype : {torch::kFloat, torch::kDouble, torch::kHalf}) {
    SCOPED_TRACE(c10::toString(dtype));
    const auto x = torch::randn({7}).to(dtype);
    EXPECT_GE(expect_like_eager(scaled, numbers, x.clone()).forward_checks, 5u);
    expect_like_eager(clamped, numbers, x.clone());
    if (dtype != torch::kHalf) expect_like_eager(mixed, numbers, x.clone());
  }
}

/// In place, leaky_relu has no derivative for a negative slope.
TEST(NumberArguments, ThatHaveNoDerivativeThrowInTheBackwardPass) {
  const auto program = [](const Tensor& x, double t) {
    auto y = (x * 2).sin();
    return at::leaky_relu_(y, t) * 2;
  };
  const auto compiled = compile(program);
  const auto x = torch::randn({5}).requires_grad_();
  for (auto t : many(12)) compiled(x, t).sum().backward();
  EXPECT_GE(compiled.report().forward_checks, 5u);
  EXPECT_ANY_THROW(program(x, -0.2).sum().backward());
  EXPECT_ANY_THROW(compiled(x, -0.2).sum().backward());
}

TEST(NumberArguments, ThatChangeWithSizesAreCheckedByTheForwardPass) {
  const auto program = [](const Tensor& x, double t) {
    return (x * t).tanh().sum(0) / static_cast<double>(x.size(0));
  };
  const auto compiled = compile(program);
  for (int64_t i = 0; i < 60; ++i) {
    const auto x = torch::randn({i < 30 ? 5 + i % 2 : 5 + i, 4}).requires_grad_();
    const auto t = 0.3 + 0.01 * static_cast<double>(i);
    const auto expected = program(x, t), actual = compiled(x, t);
    EXPECT_TRUE(same_values(expected, actual)) << i;
    EXPECT_TRUE(same_values(torch::autograd::grad({expected.sum()}, {x})[0],
                            torch::autograd::grad({actual.sum()}, {x})[0]));
  }
  EXPECT_LE(compiled.report().captures, 3u);
  EXPECT_GE(compiled.report().forward_checks, 35u);
}

TEST(NumberArguments, HostArithmetic) {
  const auto program = [](const Tensor& x, double t) {
    return x * std::exp(-t) + (x * x) / (1 - t * t) - std::floor(4 * t);
  };
  EXPECT_EQ(expect_like_eager(program, many(40)).captures, 3u);  // floor(4 t) stays 0 at first
}

TEST(NumberArguments, HostBranches) {
  const auto program = [](const Tensor& x, double t) { return t < 0.5 ? (x * t).sin() : x.exp() * (1 - t); };
  EXPECT_EQ(expect_like_eager(program, many(60)).captures, 4u);  // two for each branch
  const auto unused = [](const Tensor& x, double t) { return t < 0.5 ? x.sin() : x.exp(); };
  EXPECT_EQ(expect_like_eager(unused, many(60)).captures, 4u);
}

TEST(NumberArguments, Integers) {
  const auto numbers = std::vector<int64_t>{1, 2, 3, 5, -4, 0, 1000000007, 7};
  const auto scaled = [](const Tensor& x, int64_t n) { return x * n + n; };
  EXPECT_EQ(expect_like_eager(scaled, numbers).captures, 2u);
  EXPECT_EQ(expect_like_eager(scaled, numbers, torch::arange(6)).captures, 2u);
  const auto mixed = [](const Tensor& x, int64_t n) { return x / static_cast<double>(n + 5) + n % 3; };
  expect_like_eager(mixed, numbers);
  const auto structure = [](const Tensor& x, int64_t n) {
    auto y = x;
    for (int64_t i = 0; i < n; ++i) y = y.sin();
    return y;
  };
  EXPECT_EQ(expect_like_eager(structure, std::vector<int64_t>{1, 2, 3, 2, 1}).captures, 3u);
  const auto dim = [](const Tensor& x, int64_t n) { return x.sum(n); };
  EXPECT_EQ(expect_like_eager(dim, std::vector<int64_t>{0, 1, 0, 1}, torch::randn({3, 3})).captures, 2u);
  const auto index = [](const Tensor& x, int64_t n) { return x[n] * 2; };
  EXPECT_EQ(expect_like_eager(index, std::vector<int64_t>{0, 1, 2, 1, 0}).captures, 3u);
  const auto roll = [](const Tensor& x, int64_t n) { return x.roll(n, 1) * 2; };
  expect_like_eager(roll, std::vector<int64_t>{0, 1, 2, 3, -1});
}

TEST(NumberArguments, ArgumentsOfManyOps) {
  const auto x = torch::rand({4, 5}) + 0.1;
  const auto check = [&](const char* name, const std::function<Tensor(const Tensor&, double)>& program) {
    SCOPED_TRACE(name);
    EXPECT_LE(expect_like_eager(program, many(6, 0.2, 0.11), x.clone()).captures, 3u);
  };
  check("pow", [](const Tensor& a, double t) { return a.pow(t); });
  check("pow of a number", [](const Tensor& a, double t) { return at::pow(t, a); });
  check("add", [](const Tensor& a, double t) { return at::add(a, a.sin(), t); });
  check("sub", [](const Tensor& a, double t) { return t - a; });
  check("rsub", [](const Tensor& a, double t) { return at::rsub(a, a.cos(), t); });
  check("div", [](const Tensor& a, double t) { return t / a; });
  check("clamp", [](const Tensor& a, double t) { return a.clamp(t, t + 0.3); });
  check("leaky_relu", [](const Tensor& a, double t) { return at::leaky_relu(a - 0.5, t); });
  check("elu", [](const Tensor& a, double t) { return at::elu(a - 0.5, t); });
  check("threshold", [](const Tensor& a, double t) { return at::threshold(a, t, -t); });
  check("softplus", [](const Tensor& a, double t) { return at::softplus(a, t); });
  check("where", [](const Tensor& a, double t) { return at::where(a > t, a, t); });
  check("masked_fill", [](const Tensor& a, double t) { return a.masked_fill(a < t, t); });
  check("full", [](const Tensor& a, double t) { return a + at::full({5}, t); });
  check("lerp", [](const Tensor& a, double t) { return at::lerp(a, a.sin(), t); });
  check("addmm", [](const Tensor& a, double t) { return at::addmm(a, a, at::ones({5, 5}), t, 2 * t); });
  check("layer_norm", [](const Tensor& a, double t) { return at::layer_norm(a, {5}, {}, {}, t); });
  check("norm", [](const Tensor& a, double t) { return a.norm(1 + t); });
  check("huber_loss", [](const Tensor& a, double t) { return at::huber_loss(a, a.cos(), 1, t); });
  check("in place", [](const Tensor& a, double t) { return a.clone().mul_(t).add_(a, t).fmod_(t + 0.1); });
  check("cumulated", [](const Tensor& a, double t) { return (a * t).cumsum(0) * t; });
  check("quantile", [](const Tensor& a, double t) { return at::quantile(a, t); });
}

TEST(NumberArguments, SpecialValues) {
  const auto inf = std::numeric_limits<double>::infinity();
  const std::vector<double> numbers{1,      2,   0,    -0.0,   inf, -inf, std::nan(""),
                                    1e-320, 0.1, -0.1, 1e-300, 0.5, 1e38, 1};
  const auto program = [](const Tensor& x, double t) { return (x * t).clamp_min(t) / t; };
  expect_like_eager(program, numbers);
  expect_like_eager(program, numbers, torch::randn({5}, torch::kDouble));
}

TEST(NumberArguments, DTypes) {
  const auto program = [](const Tensor& x, double t) { return x * t - t * 0.25; };
  for (auto dtype : {torch::kDouble, torch::kHalf, torch::kBFloat16, torch::kInt, torch::kLong}) {
    SCOPED_TRACE(c10::toString(dtype));
    EXPECT_EQ(expect_like_eager(program, many(12), torch::ones({7}).mul(3).to(dtype)).captures, 2u);
  }
  const auto single = [](const Tensor& x, float t) { return x * t; };
  EXPECT_EQ(expect_like_eager(single, std::vector<float>{0.1F, 0.2F, 0.3F}).captures, 2u);
}

TEST(NumberArguments, SeveralNumbers) {
  const auto program = [](const Tensor& x, double a, int64_t n, const std::vector<double>& list) {
    return x * a + static_cast<double>(n) * list[0] - list[1];
  };
  const auto compiled = compile(program);
  const auto x = torch::randn({4});
  const auto call = [&](double a, int64_t n, const std::vector<double>& list) {
    EXPECT_TRUE(same_values(program(x, a, n, list), compiled(x, a, n, list))) << a << " " << n << " " << list;
    return compiled.report().captures;
  };
  EXPECT_EQ(call(0.5, 3, {1, 2}), 1u);
  EXPECT_EQ(call(0.6, 3, {1, 2}), 2u);
  EXPECT_EQ(call(0.7, 3, {1, 2}), 2u);
  EXPECT_EQ(call(0.7, 4, {1.5, 2}), 3u);
  EXPECT_EQ(call(0.8, 5, {1.7, 2}), 3u);
  EXPECT_EQ(call(0.8, 5, {1.7, 2.5}), 4u);
  EXPECT_EQ(call(0.9, 7, {1.8, 3.5}), 4u);
  EXPECT_EQ(compiled.report().recapture_reasons.back(), "argument 3 is the number 2.5, was 2");
}

TEST(NumberArguments, EqualByChanceIsNotTheSame) {
  const auto program = [](const Tensor& x, double a, double b) { return x * a + b; };
  const auto compiled = compile(program);
  const auto x = torch::randn({4});
  for (const auto& [a, b] :
       std::vector<std::pair<double, double>>{{1, 1}, {2, 2}, {3, 3}, {3, 4}, {5, 6}, {7, 7}})
    EXPECT_TRUE(same_values(program(x, a, b), compiled(x, a, b))) << a << " " << b;
  EXPECT_EQ(compiled.report().captures, 3u);
}

TEST(NumberArguments, WithSizesThatChange) {
  const auto program = [](const Tensor& x, double t) {
    return (x * t).sum(0) / static_cast<double>(x.size(0)) + t / static_cast<double>(x.size(0));
  };
  const auto compiled = compile(program);
  for (int64_t i = 0; i < 30; ++i) {
    const auto x = torch::randn({3 + i * 7 % 11, 4}).requires_grad_();
    const auto t = 0.3 + 0.01 * static_cast<double>(i / 2);
    const auto expected = program(x, t), actual = compiled(x, t);
    EXPECT_TRUE(same_values(expected, actual)) << i;
    EXPECT_TRUE(same_values(torch::autograd::grad({expected.sum()}, {x})[0],
                            torch::autograd::grad({actual.sum()}, {x})[0]));
  }
  EXPECT_LE(compiled.report().captures, 3u);
}

TEST(NumberArguments, ResultsThatAreNumbers) {
  const auto program = [](const Tensor& x, double t) { return std::tuple(x * t, 2 * t, t < 0.3); };
  const auto compiled = compile(program);
  const auto x = torch::randn({3});
  for (int round = 0; round < 2; ++round)
    for (auto t : many(10)) {
      const auto [y, twice, small] = compiled(x, t);
      EXPECT_TRUE(same_values(x * t, y));
      EXPECT_EQ(twice, 2 * t);
      EXPECT_EQ(small, t < 0.3);
    }
  EXPECT_EQ(compiled.report().captures, 2u);
}

TEST(NumberArguments, ReferencesThatAreWritten) {
  const auto program = [](const Tensor& x, double& t) {
    t = t * 0.5 + 1;
    return x * t;
  };
  const auto compiled = compile(program);
  const auto x = torch::randn({3});
  double a = 0.25, b = 0.25;
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(same_values(program(x, a), compiled(x, b)));
    EXPECT_EQ(a, b);
  }
  EXPECT_EQ(compiled.report().captures, 2u);
}

TEST(NumberArguments, SecondDerivatives) {
  const auto program = [](const Tensor& x, double t) { return (x.pow(3) * t + (x * t).sin()).sum(); };
  const auto compiled = compile(program);
  for (auto t : many(12)) {
    SCOPED_TRACE(t);
    const auto x = torch::linspace(0.1, 1, 5).requires_grad_();
    const auto second = [&](const Tensor& value) {
      const auto first = torch::autograd::grad({value}, {x}, {}, true, true)[0];
      return std::pair(first, torch::autograd::grad({first.sum()}, {x})[0]);
    };
    const auto [first, curvature] = second(program(x, t));
    const auto [own_first, own_curvature] = second(compiled(x, t));
    EXPECT_TRUE(same_values(first, own_first));
    EXPECT_TRUE(same_values(curvature, own_curvature));
  }
  EXPECT_EQ(compiled.report().captures, 2u);
}

TEST(NumberArguments, ValueAndGrad) {
  const auto loss = [](const Tensor& w, const Tensor& x, double decay) {
    return (x.matmul(w)).tanh().pow(2).mean() + decay * w.pow(2).sum();
  };
  const auto compiled = value_and_grad(loss);
  const auto only = grad(loss);
  const auto w = torch::randn({4, 2}).requires_grad_(), x = torch::randn({6, 4});
  for (auto decay : many(12)) {
    const auto expected = loss(w, x, decay);
    const auto gradient = torch::autograd::grad({expected}, {w})[0];
    const auto [value, gradients] = compiled(w.detach(), x, decay);
    EXPECT_TRUE(same_values(expected.detach(), value));
    EXPECT_TRUE(same_values(gradient, gradients[0]));
    EXPECT_TRUE(same_values(gradient, only(w.detach(), x, decay)[0]));
  }
  EXPECT_EQ(compiled.report().captures, 2u);
  EXPECT_EQ(only.report().captures, 2u);
}

TEST(NumberArguments, OptimizerSteps) {
  auto p = torch::randn({5}), q = p.clone();
  const auto step = [](const Tensor& parameter, const Tensor& gradient, double rate, int64_t count) {
    const auto correction = 1 - std::pow(0.9, static_cast<double>(count));
    parameter.sub_(gradient * (rate / correction));
  };
  const auto compiled = compile(step);
  const torch::NoGradGuard no_grad;
  for (int64_t count = 1; count <= 20; ++count) {
    const auto gradient = torch::randn({5});
    step(p, gradient, 0.1 / static_cast<double>(count), count);
    compiled(q, gradient, 0.1 / static_cast<double>(count), count);
    EXPECT_TRUE(same_values(p, q)) << count;
  }
  EXPECT_LE(compiled.report().captures, 3u);
}

TEST(NumberArguments, RandomOps) {
  Options options;
  options.rng = Rng::Eager;
  const auto program = [](const Tensor& x, double p) {
    return torch::dropout(x, p, true) + torch::randn({4}) * p;
  };
  const auto compiled = compile(program, options);
  const auto x = torch::randn({3, 4});
  for (auto p : many(12, 0.1, 0.05)) {
    test::manual_seed(3);
    const auto expected = program(x, p);
    test::manual_seed(3);
    EXPECT_TRUE(same_values(expected, compiled(x, p))) << p;
  }
  EXPECT_LE(compiled.report().captures, 3u);  // 0.5 is the op's default, and not recorded
  const auto fused = compile([](const Tensor& y, double p) { return torch::dropout(y, p, true); });
  const auto ones = torch::ones({100, 100});
  for (auto p : {0.25, 0.5, 0.75}) {
    const auto y = fused(ones, p);
    EXPECT_NEAR(y.eq(0).to(torch::kFloat).mean().item<double>(), p, 0.05);
    EXPECT_NEAR(y.max().item<double>(), 1 / (1 - p), 1e-5);
  }
}

using CachedNumbers = CacheTest;

TEST_F(CachedNumbers, AreFoundByTheNextProcess) {
  const auto program = [](const Tensor& x, double t) { return (x * t).exp() - std::sqrt(t); };
  const auto x = torch::randn({6}).requires_grad_();
  const auto run = [&](double from) {
    const auto compiled = compile(program);
    for (auto t : many(6, from)) {
      const auto value = compiled(x, t);
      EXPECT_TRUE(same_values(program(x, t), value));
      EXPECT_TRUE(same_values(torch::autograd::grad({program(x, t).sum()}, {x})[0],
                              torch::autograd::grad({value.sum()}, {x})[0]));
    }
    return compiled.report();
  };
  const auto cold = run(0.5);
  EXPECT_EQ(cold.captures, 2u);
  EXPECT_EQ(cold.cache.misses, 4u);
  flush_cache();
  EXPECT_EQ(run(0.5).cache, counts(4, 0));
  const auto others = run(0.7);  // only the version of the first value has its number in the key
  EXPECT_EQ(others.cache, counts(2, 2));
}

TEST(NumberArguments, ThatEagerRefusesAreRefused) {
  const auto throws = [](const auto& program, const Tensor& x, std::vector<double> fine, double bad) {
    const auto compiled = compile(program);
    for (auto number : fine) EXPECT_TRUE(same_values(program(x, number), compiled(x, number))) << number;
    EXPECT_ANY_THROW(program(x, bad));
    EXPECT_ANY_THROW(compiled(x, bad));
    EXPECT_TRUE(same_values(program(x, fine[0]), compiled(x, fine[0])));
  };
  const auto integers = torch::arange(12);
  const auto as_integer = [](double t) { return static_cast<int64_t>(t); };
  throws([&](const Tensor& x, double t) { return x.remainder(as_integer(t)); }, integers, {3, 4, 5}, 0);
  throws([&](const Tensor& x, double t) { return x.floor_divide(as_integer(t)); }, integers, {3, 4, 5}, 0);
  throws([](const Tensor& x, double t) { return torch::empty_like(x).fill_(t) + x; }, torch::randn({4}),
         {1, 2, 3}, 1e300);
  throws([&](const Tensor& x, double t) { return torch::empty_like(x).fill_(as_integer(t)) + x; },
         torch::ones({4}, at::kByte), {1, 2, 3}, 300);
}

}  // namespace
}  // namespace antegrad::test
