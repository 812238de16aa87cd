// antegrad::cond: data decides which of two functions runs.
#include <antegrad/control.h>

#include "support/derivatives.h"
#include "support/leaf.h"
#include "support/seeds.h"

namespace antegrad::test {
namespace {

using at::Tensor;
using Tensors = std::vector<Tensor>;

/// Compares a function of one tensor with its compiled form, for data that takes both branches.
template <class F>
void same_for_both_branches(const F& function, const Tensors& parameters, int order = 2) {
  const auto compiled = compile(function);
  for (const double shift : {1.5, -1.5, 0.75}) {
    auto x = (torch::rand({3, 4}, torch::kF64) + shift).requires_grad_();
    auto leaves = parameters;
    leaves.push_back(x);
    expect_same_derivatives(derivatives([&] { return Tensors{function(x)}; }, leaves, order),
                            derivatives([&] { return Tensors{compiled(x)}; }, leaves, order),
                            c10::str("shift ", shift));
  }
  EXPECT_EQ(compiled.report().captures, 1u);
  EXPECT_EQ(compiled.report().eager_calls, 0u);
}

TEST(Cond, TakesOneSide) {
  manual_seed(1);
  same_for_both_branches(
      [](const Tensor& x) {
        return cond(
            x.sum() > 0, [](const Tensor& y) { return y.sin() * y; }, [](const Tensor& y) { return y.exp(); },
            x);
      },
      {}, 3);
}

TEST(Cond, OnlyTheSideThatIsTakenRuns) {
  const auto compiled = compile([](const Tensor& x) {
    return cond(
        x.sum() > 0, [&] { return x * 2; },
        [&] { return torch::linalg_cholesky(x); });  // throws for what is not positive definite
  });
  EXPECT_TRUE(torch::equal(compiled(torch::ones({2, 2})), torch::full({2, 2}, 2.)));
  EXPECT_THROW(compiled(-torch::ones({2, 2})), c10::Error);
}

TEST(Cond, CapturedTensorsGetGradients) {
  manual_seed(1);
  const auto w = torch::randn({4, 4}, torch::kF64).requires_grad_();
  const auto b = torch::randn({4}, torch::kF64).requires_grad_();
  same_for_both_branches(
      [w, b](const Tensor& x) {
        const auto scaled = x * b;
        return cond(
                   x.mean() > 0, [&] { return (scaled.matmul(w) + x).tanh(); },
                   [&] { return (x.matmul(w.t()) * scaled).sigmoid(); }) *
               b;
      },
      {w, b});
}

TEST(Cond, InsideOfAnother) {
  manual_seed(1);
  const auto w = torch::randn({4}, torch::kF64).requires_grad_();
  same_for_both_branches(
      [w](const Tensor& x) {
        const auto y = x * 2;
        return cond(
            y.sum() > 0,
            [&] {
              const auto z = y.sin() * w;
              return cond(
                  z.sum() > 1, [&] { return z * y + x; }, [&] { return z.exp() - w; });
            },
            [&] { return y * w * w; });
      },
      {w});
}

TEST(Cond, OneAfterTheOther) {
  manual_seed(1);
  const auto w = torch::randn({4}, torch::kF64).requires_grad_();
  same_for_both_branches(
      [w](const Tensor& x) {
        auto y = x;
        for (int i = 0; i < 3; ++i)
          y = cond((y * w).sum() > 0.5, [&] { return (y * w).sin() + y; }, [&] { return (y + w).cos(); });
        return y;
      },
      {w}, 2);
}

TEST(Cond, SeveralResultsOfWhichOneHasNoGradient) {
  manual_seed(1);
  const auto function = [](const Tensor& x) {
    auto [y, n] = cond(
        x.sum() > 0, [&] { return std::tuple(x * x, x.argmax(1)); },
        [&] { return std::tuple(x.exp(), x.argmin(1)); });
    return std::tuple(y, n);
  };
  const auto compiled = compile(function);
  for (const double sign : {1., -1.}) {
    const auto x = (torch::rand({3, 4}) * sign).requires_grad_();
    const auto [y, n] = function(x);
    const auto [z, m] = compiled(x);
    EXPECT_TRUE(torch::equal(n, m));
    EXPECT_FALSE(m.requires_grad());
    EXPECT_TRUE(torch::allclose(y, z));
    y.sum().backward();
    const auto expected = x.grad().clone();
    x.mutable_grad() = Tensor();
    z.sum().backward();
    EXPECT_TRUE(torch::allclose(expected, x.grad()));
  }
}

TEST(Cond, ResultsAreTensorsOfTheirOwn) {
  for (const bool is_compiled : {false, true}) {
    const auto function = [](const Tensor& x) {
      return cond(
          x.sum() > 0, [](const Tensor& y) { return y; }, [](const Tensor& y) { return y.t(); }, x);
    };
    auto x = torch::ones({2, 2});
    auto y = is_compiled ? compile(function)(x) : function(x);
    y.add_(1);
    EXPECT_TRUE(torch::equal(x, torch::ones({2, 2})));
    EXPECT_TRUE(torch::equal(y, torch::full({2, 2}, 2.)));
  }
}

TEST(Cond, WritesToItsOwnTensors) {
  manual_seed(1);
  same_for_both_branches(
      [](const Tensor& x) {
        return cond(
            x.sum() > 0,
            [&] {
              auto y = x.clone();
              y.select(0, 1).mul_(x.select(0, 0));
              return y;
            },
            [&] { return torch::zeros_like(x).add_(x).mul_(x); });
      },
      {});
}

TEST(Cond, PartsWithoutGradient) {
  manual_seed(1);
  same_for_both_branches(
      [](const Tensor& x) {
        return cond(
            x.sum() > 0,
            [&] {
              torch::NoGradGuard guard;
              const auto scale = x.sin();
              torch::AutoGradMode mode(true);
              return x * scale;
            },
            [&] { return x.detach() * x.exp(); });
      },
      {});
}

TEST(Cond, GradientsInside) {
  manual_seed(1);
  const auto w = torch::randn({4}, torch::kF64).requires_grad_();
  same_for_both_branches(
      [w](const Tensor& x) {
        return cond(
            x.sum() > 0,
            [&] {
              const auto y = x.detach().requires_grad_();
              const auto energy = (y * w).tanh().sum();
              return torch::autograd::grad({energy}, {y}, {}, true, true)[0] * x;
            },
            [&] { return x * w; });
      },
      {w}, 2);
}

TEST(Cond, NumbersOfTheHost) {
  manual_seed(1);
  const auto function = [](const Tensor& x) {
    const auto n = torch::arange(4);
    return cond(
        x.sum() > 0, [&] { return (n * 0.5).to(torch::kF64) * x + 1; },
        [&] {
          return torch::tensor({1., 2., 3., 4.}, torch::kF64) * x;
        });
  };
  same_for_both_branches(function, {});
}

TEST(Cond, DynamicSizes) {
  manual_seed(1);
  const auto w = torch::randn({4}, torch::kF64).requires_grad_();
  const auto function = [w](const Tensor& x) {
    return cond(
        x.sum() > 0, [&] { return (x.view({-1}) * 2).view(x.sizes()) * w; },
        [&] { return x / x.size(0) - w; });
  };
  const auto compiled = compile(function);
  for (const int64_t rows : {3, 5, 8, 9, 17})
    for (const double sign : {1., -1.}) {
      auto x = (torch::rand({rows, 4}, torch::kF64) * sign).requires_grad_();
      expect_same_derivatives(derivatives([&] { return Tensors{function(x)}; }, {x, w}, 2),
                              derivatives([&] { return Tensors{compiled(x)}; }, {x, w}, 2),
                              c10::str(rows, " rows"));
    }
  EXPECT_EQ(compiled.report().captures, 2u);
}

template <class F>
std::string refusal(const F& function) {
  try {
    compile(function)(torch::ones({2, 2}));
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing";
}

TEST(Cond, RefusesWhatABodyMustNotDo) {
  auto outside = torch::ones({2, 2});
  const auto taken = [](const Tensor& x, const auto& body) {
    return cond(
        x.sum() > 0, [&] { return body(); }, [&] { return x * 1; });
  };
  EXPECT_NE(refusal([&](Tensor x) { return taken(x, [&] { return x.mul_(2) + 1; }); }).find("made outside"),
            std::string::npos);
  EXPECT_NE(
      refusal([&](Tensor x) { return taken(x, [&] { return outside.add_(x) * 1; }); }).find("made outside"),
      std::string::npos);
  EXPECT_TRUE(torch::equal(outside, torch::ones({2, 2})));
  Tensor leaked;
  EXPECT_NE(refusal([&](Tensor x) {
              auto y = taken(x, [&] {
                leaked = x * 3;
                return leaked + 1;
              });
              y = y + leaked;
              leaked = Tensor();
              return y;
            }).find("inside a region is used outside"),
            std::string::npos);
  const auto shapes = refusal([&](Tensor x) {
    return cond(
        x.sum() > 0, [&] { return x * 1; }, [&] { return x.sum(0); });
  });
  EXPECT_NE(shapes.find("one branch returns"), std::string::npos) << shapes;
  const auto hooked = [](Tensor x) {
    x = x.requires_grad_();
    return cond(
        x.sum() > 0,
        [&] {
          auto y = x * 2;
          y.register_hook([](Tensor g) { return g * 3; });
          return y * 2;
        },
        [&] { return x * 1; });
  };
  EXPECT_NE(refusal([&](Tensor x) { return hooked(x * 1); }).find("hook"), std::string::npos);
}

TEST(Cond, IsANodeWhoseArgumentsAreGraphs) {
  const auto compiled = compile([](const Tensor& x) {
    return cond(
        x.sum() > 0, [&] { return x * 2; }, [&] { return x - 1; });
  });
  compiled(torch::ones({2}));
  EXPECT_NE(compiled.graph().find("antegrad.region.cond"), std::string::npos) << compiled.graph();
  EXPECT_NE(compiled.graph().find("aten.sub"), std::string::npos) << compiled.graph();
}

TEST(Cond, EagerAndComparedBackends) {
  manual_seed(1);
  const auto w = torch::randn({4}).requires_grad_();
  const auto function = [w](const Tensor& x) {
    return cond(
               x.sum() > 0, [&] { return (x * w).sin(); }, [&] { return x.exp() * w; }) *
           x;
  };
  for (const bool compares : {false, true}) {
    Options options;
    if (compares)
      options.debug_compare = true;
    else
      options.backend = Backend::Eager;
    const auto compiled = compile(function, options);
    for (const double sign : {1., -1.}) {
      auto x = (torch::rand({3, 4}) * sign).requires_grad_();
      expect_same_derivatives(derivatives([&] { return Tensors{function(x)}; }, {x, w}, 2),
                              derivatives([&] { return Tensors{compiled(x)}; }, {x, w}, 2));
    }
  }
}

}  // namespace
}  // namespace antegrad::test
