// antegrad::associative_scan.
#include <antegrad/control.h>

#include "support/derivatives.h"
#include "support/seeds.h"

namespace antegrad::test {
namespace {

using at::Tensor;
using Tensors = std::vector<Tensor>;
using Pair = std::tuple<Tensor, Tensor>;

/// What a loop of the host computes.
template <class Combine>
Tensor one_by_one(const Combine& combine, const Tensor& xs) {
  Tensors out{xs.slice(0, 0, 1)};
  for (int64_t i = 1; i < xs.size(0); ++i) out.push_back(combine(out.back(), xs.slice(0, i, i + 1)));
  return torch::cat(out);
}

template <class Combine>
void same_as_loop(const Combine& combine, int order) {
  manual_seed(1);
  const auto scanned = [&](const Tensor& xs) { return associative_scan(combine, xs); };
  const auto compiled = compile(scanned);
  for (const int64_t length : {1, 2, 5, 8}) {
    const auto xs = (torch::rand({length, 3}, torch::kF64) + 0.5).requires_grad_();
    const auto expected = derivatives([&] { return Tensors{one_by_one(combine, xs)}; }, {xs}, order);
    expect_same_derivatives(expected, derivatives([&] { return Tensors{scanned(xs)}; }, {xs}, order),
                            c10::str("eager, length ", length));
    expect_same_derivatives(expected, derivatives([&] { return Tensors{compiled(xs)}; }, {xs}, order),
                            c10::str("compiled, length ", length));
  }
  EXPECT_EQ(compiled.report().eager_calls, 0u);
}

TEST(AssociativeScan, Sums) {
  same_as_loop([](const Tensor& a, const Tensor& b) { return a + b; }, 2);
}

TEST(AssociativeScan, Products) {
  same_as_loop([](const Tensor& a, const Tensor& b) { return a * b; }, 2);
}

TEST(AssociativeScan, SmoothMaximum) {
  same_as_loop([](const Tensor& a, const Tensor& b) { return torch::logaddexp(a, b); }, 2);
}

/// The elements are matrices: the op need not commute.
TEST(AssociativeScan, ProductsOfMatrices) {
  manual_seed(1);
  const auto combine = [](const Tensor& a, const Tensor& b) { return b.matmul(a); };
  const auto scanned = [&](const Tensor& xs) { return associative_scan(combine, xs); };
  const auto compiled = compile(scanned);
  const auto xs = torch::randn({5, 2, 2}, torch::kF64).requires_grad_();
  const auto all = [&](const auto& f) { return derivatives([&] { return Tensors{f(xs)}; }, {xs}, 2); };
  const auto loop = [&](const Tensor& xs) { return one_by_one(combine, xs); };
  expect_same_derivatives(all(loop), all(scanned), "eager");
  expect_same_derivatives(all(loop), all(compiled), "compiled");
}

/// Two steps of h = a h + b, one after the other.
Pair both(const Pair& first, const Pair& then) {
  const auto& [a, b] = first;
  const auto& [c, d] = then;
  return {c * a, c * b + d};
}

TEST(AssociativeScan, LinearRecurrence) {
  manual_seed(1);
  const auto w = torch::rand({4}, torch::kF64).requires_grad_();
  const auto scanned = [&](const Tensor& a, const Tensor& b) {
    return std::get<1>(associative_scan(both, Pair(a * w, b)));
  };
  const auto loop = [&](const Tensor& a, const Tensor& b) {
    Tensors out;
    auto h = torch::zeros({4}, torch::kF64);
    for (int64_t t = 0; t < a.size(0); ++t) out.push_back(h = a[t] * w * h + b[t]);
    return torch::stack(out);
  };
  const auto compiled = compile(scanned);
  for (const int64_t length : {1, 2, 7}) {
    const auto a = torch::rand({length, 4}, torch::kF64).requires_grad_();
    const auto b = torch::randn({length, 4}, torch::kF64).requires_grad_();
    const auto all = [&](const auto& f) {
      return derivatives([&] { return Tensors{f(a, b)}; }, {a, b, w}, 2);
    };
    expect_same_derivatives(all(loop), all(scanned), c10::str("eager, length ", length));
    expect_same_derivatives(all(loop), all(compiled), c10::str("compiled, length ", length));
  }
}

TEST(AssociativeScan, GradientsAreFiniteDifferences) {
  manual_seed(1);
  const auto compiled = compile([](const Tensor& a, const Tensor& b) {
    return std::get<1>(associative_scan(both, Pair(a, b))).sin().sum();
  });
  const auto a = torch::rand({7}, torch::kF64).requires_grad_(), b = torch::randn({7}, torch::kF64);
  const auto gradient = torch::autograd::grad({compiled(a, b)}, {a})[0];
  const torch::NoGradGuard guard;
  const double h = 1e-5;
  for (int64_t i = 0; i < 7; ++i) {
    const auto at = [&](double step) {
      auto moved = a.detach().clone();
      moved[i] += step;
      return compiled(moved, b).item<double>();
    };
    EXPECT_NEAR(gradient[i].item<double>(), (at(h) - at(-h)) / (2 * h), 1e-8) << i;
  }
}

TEST(AssociativeScan, InsideOfACond) {
  manual_seed(1);
  const auto function = [](const Tensor& x) {
    return cond(
        x.sum() > 0,
        [&] { return associative_scan([](const Tensor& a, const Tensor& b) { return a * b; }, x); },
        [&] { return x.cumsum(0); });
  };
  const auto compiled = compile(function);
  for (const double sign : {1., -1.}) {
    const auto x = (torch::rand({5, 2}, torch::kF64) * sign).requires_grad_();
    expect_same_derivatives(derivatives([&] { return Tensors{function(x)}; }, {x}, 2),
                            derivatives([&] { return Tensors{compiled(x)}; }, {x}, 2));
  }
}

TEST(AssociativeScan, OfNothingIsNothing) {
  const auto add = [](const Tensor& a, const Tensor& b) { return a + b; };
  const auto scanned = [&](const Tensor& xs) { return associative_scan(add, xs); };
  EXPECT_EQ(scanned(torch::ones({0, 3})).sizes(), (std::vector<int64_t>{0, 3}));
  EXPECT_EQ(compile(scanned)(torch::ones({0, 3})).sizes(), (std::vector<int64_t>{0, 3}));
}

TEST(AssociativeScan, ResultsAreTensorsOfTheirOwn) {
  const auto x = torch::ones({1, 2});
  associative_scan([](const Tensor& a, const Tensor& b) { return a + b; }, x).add_(1);
  EXPECT_TRUE(torch::equal(x, torch::ones({1, 2})));
}

template <class F>
void expect_refused(const F& function, const std::string& fact) {
  try {
    function();
    ADD_FAILURE() << "no error: " << fact;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    EXPECT_NE(std::string(error.what()).find(fact), std::string::npos) << error.what();
  }
}

TEST(AssociativeScan, Refusals) {
  const auto add = [](const Tensor& a, const Tensor& b) { return a + b; };
  expect_refused([&] { associative_scan(add, torch::ones({})); },
                 "[associative_scan] the tensors to take apart");
  expect_refused([&] { associative_scan(both, Pair(torch::ones({2}), torch::ones({3}))); }, "first dims");
  expect_refused([&] { associative_scan(add, Tensor()); }, "an argument is undefined");
  expect_refused(
      [&] {
        associative_scan([](const Tensor& a, const Tensor&) { return a.sum(0); }, torch::ones({4, 2}));
      },
      "it combines two of Float[2, 2] to Float[2]");
  expect_refused(
      [&] { associative_scan([](const Tensor& a, const Tensor& b) { return a < b; }, torch::ones({4})); },
      "it combines two of Float[2] to Bool[2]");
}

}  // namespace
}  // namespace antegrad::test
