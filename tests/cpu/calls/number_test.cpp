// antegrad::Number: numbers that are inputs of the code, whatever their values.
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <limits>
#include <thread>

#include "cache/cache_fixture.h"
#include "support/closeness.h"
#include "support/seeds.h"

namespace antegrad::test {
namespace {

using at::Tensor;

const std::vector<double>& values() {
  static const std::vector<double> all{
      0.3, 1,    0,    -0.0,  2,  -1.5, 1e-310,
      7e4, 1e30, 1e10, 0.125, -3, 12.5, std::numeric_limits<double>::infinity()};
  return all;
}

/// Calls both with each number, and compares results, their types, and gradients.
template <class F>
Report expect_like_eager(const F& program, Tensor x = torch::randn({3, 4}), Options options = {}) {
  const auto compiled = compile(program, options);
  if (at::isFloatingType(x.scalar_type())) x.set_requires_grad(true);
  for (auto value : values()) {
    SCOPED_TRACE(value);
    const Number number(value);
    const auto expected = program(x, number);
    const auto actual = compiled(x, number);
    EXPECT_EQ(expected.scalar_type(), actual.scalar_type());
    EXPECT_TRUE(same_values(expected, actual)) << expected << actual;
    if (!expected.requires_grad()) continue;
    const auto tangent = torch::ones_like(expected);
    const auto a = torch::autograd::grad({expected}, {x}, {tangent})[0];
    const auto b = torch::autograd::grad({actual}, {x}, {tangent})[0];
    EXPECT_TRUE(same_values(a, b)) << a << b;
  }
  return compiled.report();
}

TEST(Numbers, AThousandValuesCostOneCompilation) {
  const auto program = [](const Tensor& x, const Number& t) { return (x * t + exp(-t)).tanh(); };
  const auto compiled = compile(program);
  const auto x = torch::randn({3, 4}).requires_grad_();
  for (int i = 0; i < 1000; ++i) {
    const Number t(0.001 * i);
    EXPECT_TRUE(same_values(program(x, t), compiled(x, t))) << i;
  }
  const auto report = compiled.report();
  EXPECT_EQ(report.calls, 1000u);
  EXPECT_EQ(report.captures, 1u);
  EXPECT_EQ(report.sizes, 0u);
  EXPECT_TRUE(report.recapture_reasons.empty());
}

TEST(Numbers, ArithmeticIsThatOfTheHost) {
  const Number a(0.75), b(2);
  EXPECT_EQ((a + b).value(), 2.75);
  EXPECT_EQ((a - b).value(), -1.25);
  EXPECT_EQ((a * b).value(), 1.5);
  EXPECT_EQ((b / 4).value(), 0.5);
  EXPECT_EQ((-a).value(), -0.75);
  EXPECT_EQ(exp(a).value(), std::exp(0.75));
  EXPECT_EQ(log(a).value(), std::log(0.75));
  EXPECT_EQ(sqrt(a).value(), std::sqrt(0.75));
  EXPECT_EQ(sin(a).value(), std::sin(0.75));
  EXPECT_EQ(cos(a).value(), std::cos(0.75));
  EXPECT_EQ(tan(a).value(), std::tan(0.75));
  EXPECT_EQ(tanh(a).value(), std::tanh(0.75));
  EXPECT_EQ(floor(-a).value(), -1);
  EXPECT_EQ(abs(-a).value(), 0.75);
  EXPECT_EQ(pow(a, b).value(), std::pow(0.75, 2));
  EXPECT_EQ(min(a, b).value(), 0.75);
  EXPECT_EQ(max(a, b).value(), 2);
  EXPECT_TRUE((b + 3).is_integer());
  EXPECT_TRUE((b * b - abs(-b)).is_integer());
  EXPECT_FALSE((b / 1).is_integer());
  EXPECT_FALSE((b + 0.5).is_integer());
  EXPECT_FALSE(sqrt(b).is_integer());
  auto c = a;
  c += 1;
  c *= 2;
  c -= a;
  c /= 0.5;
  EXPECT_EQ(c.value(), 5.5);
  EXPECT_EQ(Number(std::numeric_limits<int64_t>::min()).operator-().host().integer,
            std::numeric_limits<int64_t>::min());
}

TEST(Numbers, AllFunctionsAreRecorded) {
  const auto program = [](const Tensor& x, const Number& t) {
    const auto u = abs(t) + 0.5;
    return x * exp(-u) + log(u) - sqrt(u) * sin(t) + cos(t) / tan(u) * tanh(t) +
           floor(3 * t) * min(t, 2) * max(t, -1.5) + pow(u, 0.3) - (-t);
  };
  auto numbers = expect_like_eager(program, torch::randn({3}, torch::kDouble));
  EXPECT_EQ(numbers.captures, 1u);
}

TEST(Numbers, CountAsNumbersWhereTypesArePromoted) {
  const auto program = [](const Tensor& x, const Number& t) { return x * t + 2 * t; };
  for (auto dtype : {torch::kFloat, torch::kDouble, torch::kHalf, torch::kBFloat16})
    for (const auto& x : {torch::tensor(1.5), torch::tensor({1.5, 2.0})}) {
      SCOPED_TRACE(c10::str(dtype, x.dim()));
      const auto typed = x.to(dtype);
      EXPECT_EQ(program(typed, Number(0.5)).scalar_type(), dtype);
      EXPECT_EQ(compile(program)(typed, Number(0.5)).scalar_type(), dtype);
      EXPECT_EQ(expect_like_eager(program, typed).captures, 1u);
    }
  for (auto dtype : {torch::kInt, torch::kLong, torch::kByte}) {
    const auto x = torch::ones({4}, dtype), y = torch::tensor(3).to(dtype);
    const auto compiled = compile(program);
    for (const auto& z : {x, y}) {
      EXPECT_EQ(compiled(z, Number(0.5)).scalar_type(), torch::kFloat);
      EXPECT_EQ(compiled(z, Number(3)).scalar_type(), dtype);
      EXPECT_TRUE(same_values(program(z, Number(0.5)), compiled(z, Number(0.5))));
      EXPECT_TRUE(same_values(program(z, Number(3)), compiled(z, Number(3))));
    }
  }
}

TEST(Numbers, InManyOps) {
  const auto check = [](const char* name,
                        const std::function<Tensor(const Tensor&, const Number&)>& program) {
    SCOPED_TRACE(name);
    EXPECT_EQ(expect_like_eager(program, torch::rand({4, 5}) + 0.1).captures, 1u);
  };
  check("add", [](const Tensor& x, const Number& t) { return torch::add(x, t); });
  check("sub", [](const Tensor& x, const Number& t) { return t - x; });
  check("div", [](const Tensor& x, const Number& t) { return x / t; });
  check("divided", [](const Tensor& x, const Number& t) { return t / x; });
  check("pow", [](const Tensor& x, const Number& t) { return x.pow(tanh(t)); });
  check("clamp", [](const Tensor& x, const Number& t) { return torch::clamp(x, t / 2, t); });
  check("where", [](const Tensor& x, const Number& t) { return torch::where(x < t, x, t); });
  check("masked_fill", [](const Tensor& x, const Number& t) { return x.masked_fill(x < 0.5, t); });
  check("in place", [](const Tensor& x, const Number& t) { return x.clone().mul_(t).add_(t); });
  check("comparison", [](const Tensor& x, const Number& t) { return (x > t).to(torch::kFloat) * x; });
  check("matmul", [](const Tensor& x, const Number& t) { return (x * t).matmul(x.t()) * t; });
  check("lerp", [](const Tensor& x, const Number& t) { return torch::lerp(x, x.sin(), tanh(t)); });
  check("tensor", [](const Tensor& x, const Number& t) { return x + torch::stack({t, t * 2}).sum(); });
  check("unused", [](const Tensor& x, const Number&) { return x.sin(); });
}

TEST(Numbers, WithSizesThatChange) {
  const auto program = [](const Tensor& x, const Number& t) {
    return (x * t).sum(0) / static_cast<double>(x.size(0)) + exp(-t);
  };
  const auto compiled = compile(program);
  for (int64_t i = 0; i < 30; ++i) {
    const auto x = torch::randn({3 + i * 7 % 11, 4}).requires_grad_();
    const Number t(0.3 + 0.01 * static_cast<double>(i));
    const auto expected = program(x, t), actual = compiled(x, t);
    EXPECT_TRUE(same_values(expected, actual)) << i;
    EXPECT_TRUE(same_values(torch::autograd::grad({expected.sum()}, {x})[0],
                            torch::autograd::grad({actual.sum()}, {x})[0]));
  }
  EXPECT_EQ(compiled.report().captures, 2u);
  EXPECT_LE(compiled.report().sizes, 10u);
}

TEST(Numbers, WhatIsComputedOfThemMayDependOnSizes) {
  const auto program = [](const Tensor& x, const Number& t) {
    return x.size(0) % 2 == 0 ? x * exp(t) : x + sin(t);
  };
  const auto compiled = compile(program);
  for (int64_t i = 0; i < 24; ++i) {
    const auto x = torch::randn({4 + i % 5});
    const Number t(0.01 * static_cast<double>(i));
    EXPECT_TRUE(same_values(program(x, t), compiled(x, t))) << i;
  }
}

TEST(Numbers, SecondDerivatives) {
  const auto program = [](const Tensor& x, const Number& t) {
    return (x.pow(3) * t + (x * exp(t)).sin()).sum();
  };
  const auto compiled = compile(program);
  for (int i = 0; i < 8; ++i) {
    const Number t(0.1 * i);
    const auto x = torch::linspace(0.1, 1, 5).requires_grad_();
    const auto second = [&](const Tensor& value) {
      const auto first = torch::autograd::grad({value}, {x}, {}, true, true)[0];
      return std::pair(first, torch::autograd::grad({first.sum()}, {x})[0]);
    };
    const auto [first, curvature] = second(program(x, t));
    const auto [own_first, own_curvature] = second(compiled(x, t));
    EXPECT_TRUE(same_values(first, own_first)) << i;
    EXPECT_TRUE(same_values(curvature, own_curvature)) << i;
  }
  EXPECT_EQ(compiled.report().captures, 1u);
}

/// The backward pass is of the number of its own call.
TEST(Numbers, OfCallsWhoseBackwardPassComesLater) {
  const auto program = [](const Tensor& x, const Number& t) { return (x * exp(t)).sin(); };
  const auto compiled = compile(program);
  const auto x = torch::randn({5}).requires_grad_();
  std::vector<Tensor> eager, own;
  for (int i = 0; i < 5; ++i)
    eager.push_back(program(x, 0.2 * i)), own.push_back(compiled(x, Number(0.2 * i)));
  for (size_t i = 0; i < 5; ++i)
    EXPECT_TRUE(same_values(torch::autograd::grad({eager[i].sum()}, {x})[0],
                            torch::autograd::grad({own[i].sum()}, {x})[0]));
}

/// A result must not take the place of a wrapped number that is used for the last time.
TEST(Numbers, InBackwardPassesThatComputeResultsAgain) {
  const auto program = [](const Tensor& x, const Number& t) {
    const auto y = (x.sum() * t).tanh() * 2;
    return (exp(t) - y).tanh() * 2 + y.clamp_min(t + 1).tanh();
  };
  EXPECT_EQ(expect_like_eager(program, torch::linspace(-1.25, 1.5, 5, torch::kDouble)).captures, 1u);
}

TEST(Numbers, ValueAndGrad) {
  const auto loss = [](const Tensor& w, const Tensor& x, const Number& decay) {
    return x.matmul(w).tanh().pow(2).mean() + decay / 2 * w.pow(2).sum();
  };
  const auto compiled = value_and_grad(loss);
  const auto only = grad(loss);
  const auto w = torch::randn({4, 2}).requires_grad_(), x = torch::randn({6, 4});
  for (int i = 0; i < 8; ++i) {
    const Number decay(0.1 * i);
    const auto expected = loss(w, x, decay);
    const auto gradients = torch::autograd::grad({expected}, {w})[0];
    const auto [value, found] = compiled(w.detach(), x, decay);
    EXPECT_TRUE(same_values(expected.detach(), value));
    ASSERT_EQ(found.size(), 2u);
    EXPECT_TRUE(same_values(gradients, found[0]));
    EXPECT_TRUE(same_values(gradients, only(w.detach(), x, decay)[0]));
  }
  EXPECT_EQ(compiled.report().captures, 1u);
  EXPECT_EQ(only.report().captures, 1u);
}

struct Schedule {
  Number rate;
  std::vector<Number> betas;
  int64_t power = 2;
};
auto antegrad_fields(Schedule& schedule) { return std::tie(schedule.rate, schedule.betas, schedule.power); }

TEST(Numbers, InStructsAndLists) {
  const auto program = [](const Tensor& x, const Schedule& schedule) {
    return x.pow(schedule.power) * schedule.rate + schedule.betas[0] * x - schedule.betas.back();
  };
  const auto compiled = compile(program);
  const auto x = torch::randn({4});
  for (int i = 0; i < 6; ++i) {
    const Schedule schedule{0.1 * i, {0.9 - 0.1 * i, 2, 0.3 * i}};
    EXPECT_TRUE(same_values(program(x, schedule), compiled(x, schedule))) << i;
  }
  EXPECT_EQ(compiled.report().captures, 1u);
  const Schedule longer{0.5, {1.5, 2.5, 3.5, 4.5, 5.5}};
  EXPECT_TRUE(same_values(program(x, longer), compiled(x, longer)));
  const Schedule shorter{0.5, {0.25}};
  EXPECT_TRUE(same_values(program(x, shorter), compiled(x, shorter)));
}

TEST(Numbers, InCompiledFunctionsInsideOthers) {
  const auto inner = compile([](const Tensor& x, const Number& t) { return x * sqrt(t); });
  const auto outer = [&](const Tensor& x, const Number& t) { return inner(x, t * t + 1) + t; };
  EXPECT_EQ(expect_like_eager(outer).captures, 1u);
}

TEST(Numbers, RunEagerlyWhereTheFunctionDoes) {
  Options options;
  options.unsupported = Unsupported::Eager;
  const auto program = [](const Tensor& x, const Number& t) { return x * t * x.sum().item<double>(); };
  EXPECT_GT(expect_like_eager(program, torch::randn({3}, torch::kDouble), options).eager_calls, 0u);
  options.unsupported = Unsupported::Break;
  EXPECT_GT(expect_like_eager(program, torch::randn({3}, torch::kDouble), options).broken_calls, 0u);
}

TEST(Numbers, OfSeveralThreads) {
  const auto program = [](const Tensor& x, const Number& t) { return (x * exp(-t) + t).tanh(); };
  const auto compiled = compile(program);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int k = 0; k < 4; ++k)
    threads.emplace_back([&, k] {
      const auto x = torch::ones({4}) * k;
      for (int i = 0; i < 50; ++i) {
        const Number t(0.01 * i + k);
        if (!same_values(program(x, t), compiled(x, t))) ++wrong;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

/// Returns the text, without where in the function it was.
std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    const std::string text = error.what();
    return text.substr(0, text.find(" After "));
  }
  return "no error";
}

TEST(Numbers, ThatAreReadAreRefused) {
  const auto x = torch::randn({3});
  const auto reads = compile([](const Tensor& y, const Number& t) { return y * t.value(); });
  EXPECT_EQ(
      error_of([&] { reads(x, Number(0.5)); }),
      "[capture:number] the function reads the value of a Number, for which there would have to be code of "
      "its own. Compute with the Number itself, or take a plain double.");
  const auto returns = compile([](const Tensor& y, const Number& t) { return std::pair(y * t, t * 2); });
  EXPECT_EQ(error_of([&] { returns(x, Number(0.5)); }),
            "[compile] the function returns a Number, or assigns one to an argument. Return it as a tensor "
            "(at::Tensor(t)), or compute it outside.");
  const auto assigns = compile([](const Tensor& y, Number& t) {
    t = t * 2;
    return y * t;
  });
  Number variable(0.5);
  EXPECT_EQ(error_of([&] { assigns(x, variable); }).substr(0, 32), "[compile] the function returns a");
  Number stored;
  const auto stores = compile([&](const Tensor& y, const Number& t) {
    stored = t * 2;
    return y * stored;
  });
  stores(x, Number(0.5));
  EXPECT_EQ(error_of([&] { torch::add(x, stored); }),
            "[capture:number] a Number that a compiled function computed is used after the function has "
            "returned. Compute it again outside, from the number that was passed.");
}

template <class T>
concept HasConditions = requires(const T& t) {
  static_cast<bool>(t);
}
|| requires(const T& t) { static_cast<double>(t); }
|| requires(const T& t) { at::Scalar(t); };
static_assert(!HasConditions<Number>);

using CachedDeclaredNumbers = CacheTest;

TEST_F(CachedDeclaredNumbers, AreFoundByTheNextProcess) {
  const auto program = [](const Tensor& x, const Number& t) { return (x * t).exp() - sqrt(t); };
  const auto x = torch::randn({6}).requires_grad_();
  const auto run = [&](double from) {
    const auto compiled = compile(program);
    for (int i = 0; i < 4; ++i) {
      const Number t(from + 0.1 * i);
      const auto value = compiled(x, t);
      EXPECT_TRUE(same_values(program(x, t), value));
      EXPECT_TRUE(same_values(torch::autograd::grad({program(x, t).sum()}, {x})[0],
                              torch::autograd::grad({value.sum()}, {x})[0]));
    }
    return compiled.report().cache;
  };
  EXPECT_EQ(run(0.5), counts(0, 2));
  flush_cache();
  EXPECT_EQ(run(0.7), counts(2, 0));
}

}  // namespace
}  // namespace antegrad::test
