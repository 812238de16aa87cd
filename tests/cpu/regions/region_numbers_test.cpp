// Plain numbers that bodies of regions compute with: 1,000 values cost two compilations, with eager's results
// and gradients.
#include <antegrad/cache.h>
#include <antegrad/control.h>

#include <cmath>
#include <functional>

#include "support/derivatives.h"
#include "support/seeds.h"

namespace antegrad::test {
namespace {

using at::Tensor;
using Tensors = std::vector<Tensor>;
using Function = std::function<Tensor(const Tensor& x, const Tensor& w, double t, int64_t n)>;

uint64_t compilations() {
  const auto counts = cache_report().functions;
  return counts.hits + counts.misses + counts.bypasses;
}

/// Calls with many numbers. Derivatives of some are compared with eager's.
void check(const Function& function, const char* what, uint64_t most_compilations, int calls = 60) {
  manual_seed(1);
  const auto w = (torch::randn({4, 4}, torch::kF64) * 0.4).requires_grad_();
  const auto compiled = compile([&](const Tensor& x, double t, int64_t n) { return function(x, w, t, n); });
  uint64_t before = 0;
  for (int i = 0; i < calls; ++i) {
    const double t = 0.12 + 0.013 * i;
    const auto x = torch::randn({3, 4}, torch::kF64).requires_grad_();
    const auto order = i < 4 || i % 50 == 7 ? 2 : 1;
    expect_same_derivatives(derivatives([&] { return Tensors{function(x, w, t, i + 2)}; }, {x, w}, order),
                            derivatives([&] { return Tensors{compiled(x, t, i + 2)}; }, {x, w}, order),
                            c10::str(what, " with ", t));
    if (i == 8) before = compilations();
  }
  EXPECT_EQ(compiled.report().captures, 2u) << what;
  EXPECT_LE(compilations() - before, most_compilations) << what;
}

TEST(RegionNumbers, Calls) {
  const auto function = [](const Tensor& x, const Tensor& w, double t, int64_t n) {
    const auto layer = [&](const Tensor& y) { return (y.matmul(w) * t).tanh() + at::leaky_relu(y, t) / n; };
    return region("layer", layer, region("layer", layer, x));
  };
  check(function, "region", 0, 1000);
}

TEST(RegionNumbers, Branches) {
  const auto function = [](const Tensor& x, const Tensor& w, double t, int64_t n) {
    return cond(
        x.sum() > t, [&] { return (x.matmul(w) * std::exp(-t)).tanh(); },
        [&] { return x.clamp_min(t).pow(2) * w.sum() + n; });
  };
  check(function, "cond", 4);
}

TEST(RegionNumbers, Loops) {
  const auto function = [](const Tensor& x, const Tensor& w, double t, int64_t n) {
    const auto y = while_loop([&](const Tensor& z) { return z.abs().sum() < 9 + t; },
                              [&](const Tensor& z) { return z * (1.5 + t) + z.sign() * n; }, x);
    const auto last =
        scan([&](const Tensor& h, const Tensor& z) { return std::pair(h * t + z, h.sin()); }, x[0], y);
    return last.first * last.second + map([&](const Tensor& z) { return z * t + w[0]; }, x);
  };
  check(function, "loops", 4);
}

TEST(RegionNumbers, InsideOfEachOther) {
  const auto function = [](const Tensor& x, const Tensor& w, double t, int64_t n) {
    return checkpoint(
        [t, n](const Tensor& x, const Tensor& w) {
          return cond(
              x.sum() > t, [&] { return x.matmul(w) * t; },
              [&] {
                return region(
                    "inner", [&](const Tensor& y) { return y.pow(t) * w.sum() + n; }, x.abs() + 1);
              });
        },
        x, w);
  };
  check(function, "nested", 8);
}

TEST(RegionNumbers, CountsOfTurns) {
  const auto function = [](const Tensor& x, const Tensor& w, double, int64_t n) {
    const auto goes_on = [&](const Tensor& i, const Tensor&) { return i < n; };
    const auto turn = [&](const Tensor& i, const Tensor& y) {
      return std::tuple(i + 1, (y.matmul(w) + x).tanh());
    };
    return std::get<1>(while_loop(goes_on, turn, torch::zeros({}, torch::kI64), x));
  };
  check(function, "turns", 0);
}

/// Numbers that decide what a body does.
TEST(RegionNumbers, ThatAreNoInputs) {
  manual_seed(1);
  const auto function = [](const Tensor& x, double t, int64_t n) {
    return cond(
        x.sum() > 0, [&] { return t < 0.5 ? x.narrow(0, 0, n % 3 + 1).sum() * t + x : (x * t).cos(); },
        [&] { return x / n; });
  };
  const auto compiled = compile(function);
  for (int i = 0; i < 30; ++i) {
    const double t = 0.02 + 0.04 * i;
    for (const double sign : {1., -1.}) {
      const auto x = (torch::rand({3, 4}, torch::kF64) * sign).requires_grad_();
      expect_same_derivatives(derivatives([&] { return Tensors{function(x, t, i + 1)}; }, {x}, 2),
                              derivatives([&] { return Tensors{compiled(x, t, i + 1)}; }, {x}, 2),
                              c10::str(i));
    }
  }
  EXPECT_LE(compiled.report().captures, 8u);
}

TEST(RegionNumbers, AtManySizes) {
  manual_seed(1);
  const auto function = [](const Tensor& x, double t) {
    return cond(
        x.sum() > 0, [&] { return (x * t).sin().mean() + x; }, [&] { return x / t; });
  };
  const auto compiled = compile(function);
  for (int i = 0; i < 24; ++i) {
    const auto x = torch::randn({2 + i % 5, 3}, torch::kF64).requires_grad_();
    expect_same_derivatives(derivatives([&] { return Tensors{function(x, 0.3 + i)}; }, {x}, 2),
                            derivatives([&] { return Tensors{compiled(x, 0.3 + i)}; }, {x}, 2), c10::str(i));
  }
  EXPECT_LE(compiled.report().captures, 3u);
}

}  // namespace
}  // namespace antegrad::test
