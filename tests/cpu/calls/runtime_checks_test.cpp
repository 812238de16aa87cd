// What a captured graph checks when it runs: answers of equal(), which are assumed while capturing, and
// parameters of distributions.
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <limits>

#include "support/closeness.h"
#include "support/seeds.h"

namespace antegrad::test {
namespace {

using at::Tensor;

Options eager_numbers() {
  Options options;
  options.rng = Rng::Eager;
  return options;
}

TEST(Assumptions, DifferentTensorsThatBecomeEqual) {
  const auto f = [](const Tensor& a, const Tensor& b) { return at::equal(a, b) ? a * a : a * b; };
  auto compiled = compile(f);
  const auto a = torch::randn({3, 4}).requires_grad_();
  for (const auto& b : {torch::randn({3, 4}), a.detach().clone(), torch::randn({3, 4}), a.detach()}) {
    const auto out = compiled(a, b), expected = f(a, b);
    EXPECT_TRUE(out.equal(expected));
    const auto [gradient] = std::array{torch::autograd::grad({out.sum()}, {a})[0]};
    EXPECT_TRUE(same_values(torch::autograd::grad({expected.sum()}, {a})[0], gradient));
  }
  const auto report = compiled.report();
  EXPECT_EQ(report.captures, 1u);
  EXPECT_EQ(report.eager_calls, 2u);
  ASSERT_EQ(report.eager_reasons.size(), 1u);
  EXPECT_NE(report.eager_reasons[0].find("[run:aten.equal] tensors were assumed to be different"),
            std::string::npos)
      << report.eager_reasons[0];
}

TEST(Assumptions, NothingIsNaN) {
  const auto f = [](const Tensor& x) { return x.equal(x) ? x * 2 : torch::zeros_like(x); };
  auto compiled = compile(f);
  auto x = torch::randn({5});
  EXPECT_TRUE(compiled(x).equal(f(x)));
  x[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(compiled(x).equal(torch::zeros({5})));
  EXPECT_EQ(compiled.report().eager_calls, 1u);
}

TEST(Assumptions, AnswersThatNeedNoData) {
  auto compiled = compile([](const Tensor& x, const Tensor& n) {
    return std::tuple(x.equal(x.unsqueeze(0)), n.equal(n),
                      at::equal(x.slice(0, 0, 0), n.slice(0, 0, 0).to(x.dtype())));
  });
  const auto [sizes, integers, empty] = compiled(torch::randn({3}), torch::arange(3));
  EXPECT_FALSE(sizes);
  EXPECT_TRUE(integers);
  EXPECT_TRUE(empty);
  EXPECT_EQ(compiled.graph().find("_assert_async"), std::string::npos) << compiled.graph();
}

TEST(Assumptions, CallsThatBreakThemHaveNoEffect) {
  const auto f = [](Tensor x, const Tensor& y) {
    x.add_(1);
    const auto noise = torch::rand({3});
    if (at::equal(x, y)) return noise * 10;
    x.mul_(2);
    return noise + torch::rand({3});
  };
  for (const auto& options : {eager_numbers(), Options()}) {
    auto compiled = compile(f, options);
    auto mine = torch::zeros({3}), its = torch::zeros({3});
    compiled(mine, torch::zeros({3}));
    f(its, torch::zeros({3}));
    torch::manual_seed(5);
    const auto actual = compiled(mine, torch::full({3}, 3.F));  // equal: 2 and 1
    torch::manual_seed(5);
    EXPECT_TRUE(actual.equal(f(its, torch::full({3}, 3.F))));
    EXPECT_TRUE(mine.equal(its));
    EXPECT_EQ(mine._version(), its._version());
    EXPECT_EQ(compiled.report().eager_calls, 1u);
  }
}

TEST(Assumptions, WrongOnesEndInAnEagerVersion) {
  int runs = 0;
  auto compiled = compile([&](const Tensor& a, const Tensor& b) {
    ++runs;
    return a.equal(b) ? a + 1 : b;
  });
  const auto a = torch::randn({4});
  for (int call = 0; call < 10; ++call) EXPECT_TRUE(compiled(a, a.clone()).equal(a + 1));
  EXPECT_EQ(runs, 11);  // one of them is the capture
  EXPECT_EQ(compiled.report().eager_calls, 10u);
  EXPECT_EQ(compiled.report().captures, 2u);
}

TEST(Assumptions, AttentionOverTensorsOfOneSize) {
  torch::nn::MultiheadAttention attention(torch::nn::MultiheadAttentionOptions(8, 2));
  const auto f = [&](const Tensor& q, const Tensor& k, const Tensor& v) {
    return std::get<0>(attention->forward(q, k, v));
  };
  auto compiled = compile(f);
  const auto q = torch::randn({5, 2, 8}).requires_grad_(), k = torch::randn({5, 2, 8});
  const auto inputs =
      std::vector<std::array<Tensor, 3>>{{q, k, k}, {q, q, q}, {q, k, torch::randn({5, 2, 8})}};
  for (const auto& [a, b, c] : inputs) {
    const auto out = compiled(a, b, c), expected = f(a, b, c);
    EXPECT_TRUE(same_values(expected, out));
    EXPECT_TRUE(same_values(torch::autograd::grad({expected.square().sum()}, {q})[0],
                            torch::autograd::grad({out.square().sum()}, {q})[0]));
  }
  EXPECT_EQ(compiled.report().eager_calls, 0u);
}

TEST(Assumptions, ChecksOfArguments) {
  const auto x = torch::randn({4, 6}, at::kDouble);
  const auto q = torch::tensor({0.25, 0.5}, at::kDouble);
  auto quantiles = compile([](const Tensor& x, const Tensor& q) {
    return std::tuple(x.quantile(q, 1), x.nanquantile(0.3, 0), x.cov(), x.corrcoef());
  });
  const auto [a, b, c, d] = quantiles(x, q);
  EXPECT_TRUE(same_values(x.quantile(q, 1), a));
  EXPECT_TRUE(same_values(x.nanquantile(0.3, 0), b));
  EXPECT_TRUE(same_values(x.cov(), c));
  EXPECT_TRUE(same_values(x.corrcoef(), d));
  EXPECT_EQ(quantiles.report().eager_calls, 0u);
  try {
    quantiles(x, q + 1);
    FAIL() << "1.25 is no quantile";
  } catch (const c10::Error& error) {
    EXPECT_NE(std::string(error.what()).find("must be in the range [0, 1]"), std::string::npos)
        << error.what();
  }
}

TEST(RuntimeChecks, ParametersThatAreTensorsAreChecked) {
  const auto nan = std::numeric_limits<float>::quiet_NaN();
  const auto message = [](const auto& f, const Tensor& x) {
    try {
      f(x);
    } catch (const c10::Error& error) {
      return std::string(error.what_without_backtrace()).substr(0, 40);
    }
    return std::string();
  };
  const auto coin = [](const Tensor& p) { return at::bernoulli(p); };
  const auto noise = [](const Tensor& s) { return at::normal(0.5, s); };
  auto coins = compile(coin);
  auto noises = compile(noise);
  for (const float number : {0.F, 0.5F, 1.F, 1.5F, -0.25F, nan}) {
    auto x = torch::full({3, 5}, 0.25);
    x[2][4] = number;
    EXPECT_EQ(message(coin, x), message(coins, x)) << number;
    EXPECT_EQ(message(noise, x), message(noises, x)) << number;
  }
}

TEST(RuntimeChecks, CheckErrorsDoesNothingWithoutADevice) { EXPECT_NO_THROW(check_errors()); }

}  // namespace
}  // namespace antegrad::test
