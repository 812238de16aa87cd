// antegrad::while_loop, scan and map.
#include <antegrad/control.h>

#include "support/derivatives.h"
#include "support/seeds.h"

namespace antegrad::test {
namespace {

using at::Tensor;
using Tensors = std::vector<Tensor>;

/// x * w^n, for the first n that makes the sum reach a limit.
Tensor grown(const Tensor& x, const Tensor& w) {
  return while_loop([](const Tensor& y) { return y.abs().sum() < 20; },
                    [&](const Tensor& y) { return y * w; }, x);
}

/// The same with a loop of the host.
Tensor grown_unrolled(const Tensor& x, const Tensor& w) {
  auto y = x;
  while ((y.abs().sum() < 20).item<bool>()) y = y * w;
  return y;
}

TEST(WhileLoop, TurnsFollowFromData) {
  manual_seed(1);
  const auto w = (torch::rand({4}, torch::kF64) * 0.5 + 1.1).requires_grad_();
  const auto compiled = compile([&](const Tensor& x) { return grown(x, w); });
  for (const double scale : {0.05, 1., 3., 100.}) {
    const auto x = (torch::rand({3, 4}, torch::kF64) * scale).requires_grad_();
    const auto expected = derivatives([&] { return Tensors{grown_unrolled(x, w)}; }, {x, w}, 3);
    expect_same_derivatives(expected, derivatives([&] { return Tensors{grown(x, w)}; }, {x, w}, 3), "eager");
    expect_same_derivatives(expected, derivatives([&] { return Tensors{compiled(x)}; }, {x, w}, 3),
                            c10::str("compiled, scale ", scale));
  }
  EXPECT_EQ(compiled.report().captures, 1u);
}

TEST(WhileLoop, GradientsAreFiniteDifferences) {
  const auto w = torch::tensor({2.}, torch::kF64).requires_grad_();
  const auto x = torch::tensor({1.}, torch::kF64);
  const auto cube = [](const Tensor& w, const Tensor& x) {
    const auto n = torch::zeros({}, torch::kI64);
    return std::get<1>(while_loop([](const Tensor& i, const Tensor&) { return i < 3; },
                                  [&](const Tensor& i, const Tensor& y) { return std::tuple(i + 1, y * w); },
                                  n, x));
  };
  const auto compiled = compile(cube);
  const auto y = compiled(w, x);
  EXPECT_EQ(y.item<double>(), 8.);
  const auto gradient = torch::autograd::grad({y}, {w})[0].item<double>();
  const torch::NoGradGuard guard;
  const double h = 1e-5;
  const auto difference = (compiled(w + h, x) - compiled(w - h, x)).item<double>() / (2 * h);
  EXPECT_NEAR(gradient, difference, 1e-6);
  EXPECT_NEAR(gradient, 12., 1e-12);
}

TEST(WhileLoop, SeveralCarriedTensorsAndCondInside) {
  manual_seed(1);
  const auto w = torch::randn({3, 3}, torch::kF64).requires_grad_();
  const auto loop = [](const Tensor& w, const Tensor& x) {
    const auto [i, y, z] = while_loop(
        [](const Tensor& i, const Tensor&, const Tensor& z) { return (i < 9).logical_and(z.sum() < 6); },
        [&](const Tensor& i, const Tensor& y, const Tensor& z) {
          const auto next = cond(
              y.sum() > 0, [&] { return y.matmul(w).tanh(); }, [&] { return y + 0.3; });
          return std::tuple(i + 1, next, z + next * next);
        },
        torch::zeros({}, torch::kI64), x, torch::zeros_like(x));
    return y * z + i;
  };
  const auto unrolled = [](const Tensor& w, const Tensor& x) {
    int64_t i = 0;
    auto y = x, z = torch::zeros_like(x);
    for (; i < 9 && (z.sum() < 6).item<bool>(); ++i) {
      y = y.sum().item<double>() > 0 ? y.matmul(w).tanh() : y + 0.3;
      z = z + y * y;
    }
    return y * z + i;
  };
  const auto compiled = compile([&](const Tensor& x) { return loop(w, x); });
  for (int k = 0; k < 3; ++k) {
    const auto x = torch::randn({2, 3}, torch::kF64).requires_grad_();
    expect_same_derivatives(derivatives([&] { return Tensors{unrolled(w, x)}; }, {x, w}, 2),
                            derivatives([&] { return Tensors{compiled(x)}; }, {x, w}, 2));
  }
}

TEST(WhileLoop, MustKeepShapes) {
  const auto compiled = compile([](const Tensor& x) {
    return while_loop([](const Tensor& y) { return y.sum() < 3; },
                      [](const Tensor& y) {
                        return torch::cat({y, y});
                      },
                      x);
  });
  try {
    compiled(torch::ones({2}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("a turn returns"), std::string::npos) << error.what();
  }
}

TEST(Scan, CarriesAndStacks) {
  manual_seed(1);
  const auto w = torch::randn({4, 4}, torch::kF64).requires_grad_();
  const auto rnn = [&](const Tensor& h, const Tensor& xs) {
    return scan(
        [&](const Tensor& h, const Tensor& x) {
          const auto next = (h.matmul(w) + x).tanh();
          return std::pair(next, next * x);
        },
        h, xs);
  };
  const auto unrolled = [&](Tensor h, const Tensor& xs) {
    Tensors ys;
    for (int64_t i = 0; i < xs.size(0); ++i) {
      h = (h.matmul(w) + xs[i]).tanh();
      ys.push_back(h * xs[i]);
    }
    return std::pair(h, torch::stack(ys));
  };
  const auto compiled = compile(rnn);
  for (const int64_t length : {5, 7, 11}) {
    const auto h = torch::randn({2, 4}, torch::kF64).requires_grad_();
    const auto xs = torch::randn({length, 2, 4}, torch::kF64).requires_grad_();
    const auto all = [&](const auto& f) {
      return derivatives(
          [&] {
            const auto [last, ys] = f(h, xs);
            return Tensors{last, ys};
          },
          {h, xs, w}, 2);
    };
    expect_same_derivatives(all(unrolled), all(rnn), "eager");
    expect_same_derivatives(all(unrolled), all(compiled), "compiled");
  }
}

TEST(Scan, InsideOfAnotherHasSecondDerivatives) {
  manual_seed(1);
  const auto w = torch::randn({3}, torch::kF64).requires_grad_();
  const auto nested = [&](const Tensor& xs) {
    const auto row = [&](const Tensor& h, const Tensor& x) {
      const auto [last, all] = scan(
          [&](const Tensor& h, const Tensor& y) {
            const auto next = (h * y * w).tanh();
            return std::pair(next, next * 2);
          },
          h, x);
      return std::pair(last, all.sum(0));
    };
    const auto [last, sums] = scan(row, xs[0][0], xs);
    return last + sums.sum(0);
  };
  const auto xs = torch::randn({3, 2, 3}, torch::kF64).requires_grad_();
  expect_same_derivatives(derivatives([&] { return Tensors{nested(xs)}; }, {xs, w}, 3),
                          derivatives([&] { return Tensors{compile(nested)(xs)}; }, {xs, w}, 3));
}

TEST(Scan, OfComplexNumbersHasGradients) {
  manual_seed(1);
  const auto z = torch::randn({3, 2}, torch::kComplexDouble).requires_grad_();
  const auto turns = [](const Tensor& z) {
    const auto [last, all] = scan(
        [](const Tensor& h, const Tensor& x) {
          const auto next = h * x + at::conj(h);
          return std::pair(next, next * 2);
        },
        z[0], z);
    return at::real(last * last).sum() + at::imag(all).sum();
  };
  expect_same_derivatives(derivatives([&] { return Tensors{turns(z)}; }, {z}, 1),
                          derivatives([&] { return Tensors{compile(turns)(z)}; }, {z}, 1));
  EXPECT_TRUE(compile(turns)(z).requires_grad());
}

TEST(Scan, OfExpandedTensorsThatTheFunctionHasMade) {
  manual_seed(1);
  const auto function = [](const Tensor& x) {
    const auto y = (x * 2).sin();
    const auto [last, all] = scan([](const Tensor& h, const Tensor& x) { return std::pair(h * x, h); }, y,
                                  y.narrow(0, 0, 1).expand_as(y).expand({3, -1, -1}));
    return last + all.sum(0);
  };
  const auto x = torch::randn({2, 3}, torch::kF64).requires_grad_();
  expect_same_derivatives(derivatives([&] { return Tensors{function(x)}; }, {x}, 2),
                          derivatives([&] { return Tensors{compile(function)(x)}; }, {x}, 2));
}

TEST(Scan, OfABodyWhoseExceptionTheFunctionCatches) {
  const auto function = [](const Tensor& x) {
    try {
      return scan(
                 [](const Tensor& h, const Tensor& x) -> std::pair<Tensor, Tensor> {
                   const auto y = (h * x).sin();
                   throw std::runtime_error("no more");
                 },
                 x[0], x)
          .first;
    } catch (const std::runtime_error&) {
      return x.cos();
    }
  };
  const auto x = torch::randn({3, 2}, torch::kF64).requires_grad_();
  expect_same_derivatives(derivatives([&] { return Tensors{function(x)}; }, {x}, 2),
                          derivatives([&] { return Tensors{compile(function)(x)}; }, {x}, 2));
}

TEST(Map, StacksResults) {
  manual_seed(1);
  const auto w = torch::randn({4}, torch::kF64).requires_grad_();
  const auto each = [&](const Tensor& xs) {
    return map([&](const Tensor& x) { return std::tuple((x * w).sin(), x.sum()); }, xs);
  };
  const auto compiled = compile(each);
  const auto xs = torch::randn({5, 4}, torch::kF64).requires_grad_();
  const auto all = [&](const auto& f) {
    return derivatives(
        [&] {
          const auto [a, b] = f(xs);
          return Tensors{a, b};
        },
        {xs, w}, 2);
  };
  const auto whole = [&](const Tensor& xs) { return std::tuple((xs * w).sin(), xs.sum(1)); };
  expect_same_derivatives(all(whole), all(each), "eager");
  expect_same_derivatives(all(whole), all(compiled), "compiled");
}

}  // namespace
}  // namespace antegrad::test
