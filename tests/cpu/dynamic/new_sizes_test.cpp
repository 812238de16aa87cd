// Streams of sizes that never repeat: after a few whole captures the forward pass alone decides whether a
// version serves a new size, and whatever it cannot decide is captured whole.
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <functional>

#include "support/closeness.h"
#include "support/seeds.h"

namespace antegrad::test {
namespace {

using at::Tensor;

struct Results {
  Tensor value, gradient, weight_gradient;
};

/// Runs a function of an input [n, 3] and a weight [3], and differentiates its sum.
template <class F>
Results run(const F& f, int64_t n, const Tensor& weight) {
  manual_seed(static_cast<uint64_t>(n));
  const auto x = torch::randn({n, 3}, at::kDouble).requires_grad_();
  const auto y = f(x);
  Results results{y.detach(), {}, {}};
  if (!y.requires_grad()) return results;
  const auto gradients =
      torch::autograd::grad({y.sum()}, {x, weight}, {}, std::nullopt, false, /*allow_unused=*/true);
  results.gradient = gradients[0];
  results.weight_gradient = gradients[1];
  return results;
}

void expect_same(const Results& eager, const Results& compiled, int64_t n) {
  EXPECT_TRUE(same_values(eager.value, compiled.value)) << n;
  EXPECT_EQ(eager.gradient.defined(), compiled.gradient.defined()) << n;
  EXPECT_EQ(eager.weight_gradient.defined(), compiled.weight_gradient.defined()) << n;
  if (eager.gradient.defined() && compiled.gradient.defined())
    EXPECT_TRUE(same_values(eager.gradient, compiled.gradient)) << n;
  // Sums of n numbers of about 1, which may cancel.
  const auto mean = [&](const Tensor& sum) { return runs_libtorch_kernels() ? sum : sum / n; };
  if (eager.weight_gradient.defined() && compiled.weight_gradient.defined())
    EXPECT_TRUE(same_values(mean(eager.weight_gradient), mean(compiled.weight_gradient))) << n;
}

/// Compares with eager at 24 sizes and returns the report.
Report compare_at_many_sizes(const std::function<Tensor(const Tensor&)>& program, const Tensor& weight,
                             Options options = {}) {
  options.rng = Rng::Eager;
  auto compiled = compile(program, options);
  for (int64_t i = 0; i < 24; ++i) {
    const auto n = 5 + i * 7 % 61;
    expect_same(run(program, n, weight), run(compiled, n, weight), n);
  }
  return compiled.report();
}

Tensor make_weight() {
  manual_seed(1);
  return torch::randn({3}, at::kDouble).requires_grad_();
}

TEST(NewSizes, AreCheckedByTheForwardPassAlone) {
  const auto weight = make_weight();
  const auto report = compare_at_many_sizes(
      [&](const Tensor& x) {
        const auto y = (x * weight).tanh();
        return (y / y.norm()).cumsum(0) + x.size(0);
      },
      weight);
  EXPECT_EQ(report.captures, 2u);
  EXPECT_GE(report.forward_checks, 15u);
}

TEST(NewSizes, DrawEagersNumbers) {
  const auto weight = make_weight();
  const auto report =
      compare_at_many_sizes([&](const Tensor& x) { return torch::dropout(x * weight, 0.4, true); }, weight);
  EXPECT_GE(report.forward_checks, 15u);
}

TEST(NewSizes, WithOtherOpsAreOtherVersions) {
  const auto weight = make_weight();
  compare_at_many_sizes(
      [&](const Tensor& x) { return x.size(0) > 40 ? (x * weight).sin() : (x * weight).cos(); }, weight);
}

TEST(NewSizes, WithOtherNumbersAreOtherVersions) {
  const auto weight = make_weight();
  Options options;
  options.max_versions = 40;
  compare_at_many_sizes(
      [&](const Tensor& x) { return x * weight * std::log(static_cast<double>(x.size(0))); }, weight,
      options);
}

TEST(NewSizes, ThatTurnGradientsOffHaveNone) {
  const auto weight = make_weight();
  compare_at_many_sizes(
      [&](const Tensor& x) {
        Tensor scale;
        {
          const c10::AutoGradMode mode(x.size(0) % 7 != 3);
          scale = weight.exp();
        }
        return x * scale;
      },
      weight);
}

TEST(NewSizes, ThatDetachSomethingHaveNoGradientThere) {
  const auto weight = make_weight();
  compare_at_many_sizes(
      [&](const Tensor& x) {
        const auto y = (x * weight).exp();
        return x.size(0) % 5 == 4 ? y.detach() * x : y * x;
      },
      weight);
}

/// Its backward pass depends on the size in a way that no op of its forward pass shows.
struct SizeDependent : torch::autograd::Function<SizeDependent> {
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& x) {
    context->saved_data["rows"] = x.size(0);
    return x * 2;
  }
  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context,
                                               torch::autograd::tensor_list gradients) {
    const auto rows = context->saved_data["rows"].toInt();
    return {rows % 6 == 1 ? gradients[0].cos() : gradients[0] * 3};
  }
};

TEST(NewSizes, OfCustomFunctionsAreCapturedWhole) {
  const auto weight = make_weight();
  const auto report =
      compare_at_many_sizes([&](const Tensor& x) { return SizeDependent::apply(x * weight).sin(); }, weight);
  EXPECT_EQ(report.forward_checks, 0u);
}

TEST(NewSizes, OfWindowsThatBeginToOverlapAreCapturedWhole) {
  const auto signal = torch::randn({400}, at::kDouble).requires_grad_();
  const auto program = [&](const Tensor& window) {
    return (signal.as_strided({3, window.size(0)}, {100, 1}) * window).sum();
  };
  auto compiled = compile(program);
  for (int64_t n : {40, 41, 43, 46, 50, 53, 57, 90, 150}) {
    const auto window = torch::ones({n}, at::kDouble);
    EXPECT_TRUE(same_values(torch::autograd::grad({program(window)}, {signal})[0],
                            torch::autograd::grad({compiled(window)}, {signal})[0]))
        << n;
  }
}

TEST(NewSizes, WithoutDegreesOfFreedomAreCapturedWhole) {
  const auto program = [](const Tensor& x) { return x.var(std::nullopt, 5); };
  auto compiled = compile(program);
  for (int64_t n : {40, 41, 43, 46, 50, 53, 57, 6, 4, 3}) {
    const auto x = torch::randn({n}, at::kDouble).requires_grad_();
    const auto eager = torch::autograd::grad({program(x)}, {x})[0];
    const auto found = torch::autograd::grad({compiled(x)}, {x})[0];
    EXPECT_TRUE(torch::equal(eager.isinf(), found.isinf())) << n;
    if (n > 5) EXPECT_TRUE(same_values(eager, found)) << n;
  }
}

TEST(NewSizes, WithHooksAreCapturedWhole) {
  const auto weight = make_weight();
  const auto report = compare_at_many_sizes(
      [&](const Tensor& x) {
        auto y = (x * weight).sin();
        if (y.requires_grad())
          y.register_hook([rows = x.size(0)](const Tensor& g) { return rows % 6 == 1 ? g.cos() : g * 3; });
        return y.exp();
      },
      weight);
  EXPECT_EQ(report.forward_checks, 0u);
}

/// Keeps a table that it makes anew when it is too short.
struct Positions {
  Tensor table;
  Tensor operator()(int64_t n) {
    if (!table.defined() || table.size(0) < n) table = torch::arange(n, at::kDouble).unsqueeze(1) / 10;
    return table.slice(0, 0, n);
  }
};

TEST(NewSizes, LetAFunctionGrowItsCache) {
  const auto weight = make_weight();
  Positions own, others;
  const auto eager = [&](const Tensor& x) { return (x * weight + others(x.size(0))).sin(); };
  auto compiled = compile([&](const Tensor& x) { return (x * weight + own(x.size(0))).sin(); });
  for (int64_t i = 0; i < 24; ++i) {
    const auto n = i < 10 ? 30 - i : 20 + i * 3;
    expect_same(run(eager, n, weight), run(compiled, n, weight), n);
    EXPECT_TRUE(torch::equal(own.table, torch::arange(own.table.size(0), at::kDouble).unsqueeze(1) / 10));
  }
}

TEST(NewSizes, WriteToArguments) {
  const auto program = [](Tensor x) {
    x.mul_(2).slice(0, 0, 2).add_(1);
    return x.sum(0);
  };
  auto compiled = compile(program);
  for (int64_t n = 4; n < 20; ++n) {
    auto a = torch::randn({n, 3}), b = a.clone();
    EXPECT_TRUE(same_values(program(a), compiled(b))) << n;
    EXPECT_TRUE(same_values(a, b)) << n;
    EXPECT_EQ(a._version(), b._version()) << n;
  }
}

TEST(NewSizes, HaveSecondDerivatives) {
  const auto weight = make_weight();
  const auto program = [&](const Tensor& x) { return (x * weight).sin().pow(2).sum(); };
  auto compiled = compile(program);
  const auto second = [&](const auto& f, int64_t n) {
    manual_seed(static_cast<uint64_t>(n));
    const auto x = torch::randn({n, 3}, at::kDouble).requires_grad_();
    const auto first = torch::autograd::grad({f(x)}, {x}, {}, true, true)[0];
    return torch::autograd::grad({first.pow(2).sum()}, {x, weight});
  };
  for (int64_t n = 3; n < 16; ++n) {
    const auto eager = second(program, n), found = second(compiled, n);
    EXPECT_TRUE(same_values(eager[0], found[0])) << n;
    EXPECT_TRUE(same_values(eager[1], found[1])) << n;
  }
  EXPECT_GE(compiled.report().forward_checks, 5u);
}

TEST(NewSizes, NoticeThatTheFunctionHasChangedBeforeSecondDerivatives) {
  bool cosine = false;
  auto compiled = compile([&](const Tensor& x) { return cosine ? x.cos().sum() : x.sin().sum(); });
  Tensor x, gradient;
  for (int64_t n = 3; n < 12; ++n) {
    x = torch::randn({n, 3}).requires_grad_();
    const auto y = compiled(x);
    if (n < 11) continue;
    cosine = true;
    EXPECT_THROW(torch::autograd::grad({y}, {x}, {}, true, true), Error);
  }
  EXPECT_GE(compiled.report().forward_checks, 1u);
}

TEST(NewSizes, ThatThrowLeaveTheFunctionUsable) {
  const auto weight = make_weight();
  auto compiled = compile([&](const Tensor& x) {
    if (x.size(0) == 13) throw std::runtime_error("thirteen");
    return x * weight;
  });
  for (int64_t n = 4; n < 20; ++n) {
    const auto x = torch::randn({n, 3}, at::kDouble);
    if (n == 13)
      EXPECT_THROW(compiled(x), std::runtime_error);
    else
      EXPECT_TRUE(same_values(x * weight, compiled(x))) << n;
  }
}

TEST(NewSizes, AtWhichEagerRefusesAnOpAreRefused) {
  const auto halves = [](const Tensor& x) { return x.view({x.size(0) / 2, 2}).sum(1); };
  auto compiled = compile(halves);
  for (int64_t n : {4, 6, 10, 14, 22, 26, 34, 38, 46, 50}) {
    const auto x = torch::randn({n});
    EXPECT_TRUE(same_values(halves(x), compiled(x))) << n;
  }
  EXPECT_ANY_THROW(halves(torch::randn({51})));
  EXPECT_ANY_THROW(compiled(torch::randn({51})));
  const auto x = torch::randn({52});
  EXPECT_TRUE(same_values(halves(x), compiled(x)));
}

TEST(NewSizes, BeyondWhichASliceIsShorterAreServed) {
  const auto weight = make_weight();
  compare_at_many_sizes(
      [&](const Tensor& x) {
        return (x * weight).slice(0, 0, 40).exp().sum(0) / (x.slice(0, 3, 30).pow(2).sum(0) + 1);
      },
      weight);
}

TEST(NewSizes, OfPartsOfLargerTensorsAreServed) {
  const auto weight = make_weight();
  const auto program = [&](const Tensor& x) {
    return (x.slice(1, 1) * weight.slice(0, 1)).sum(1).view({-1, 1});
  };
  auto compiled = compile(program);
  for (int64_t n = 4; n < 24; ++n) {
    const auto x = torch::randn({n + 5, 3}, at::kDouble).slice(0, n % 5, n);
    EXPECT_TRUE(same_values(program(x), compiled(x))) << n;
  }
}

TEST(NewSizes, MayComeInManyCombinations) {
  const auto weight = torch::randn({5, 4}).requires_grad_();
  const auto program = [&](const Tensor& nodes, const Tensor& from, const Tensor& to) {
    const auto messages =
        torch::silu(torch::cat({nodes.index_select(0, from), nodes.index_select(0, to)}, 1));
    const auto sums = torch::zeros_like(nodes).index_add(0, to, messages.slice(1, 0, 5));
    return torch::mse_loss(sums.mm(weight).tanh().mean(), torch::scalar_tensor(0.5));
  };
  Options options;
  options.compile_all_sizes = true;
  auto compiled = compile(program, options);
  for (int64_t i = 0; i < 40; ++i) {
    const auto n = 4 + i % 11, e = 3 + i * 13 % 37;
    const auto nodes = torch::randn({n, 5}).requires_grad_();
    const auto from = torch::randint(0, n, {e}), to = torch::randint(0, n, {e});
    const auto a = program(nodes, from, to), b = compiled(nodes, from, to);
    EXPECT_TRUE(same_values(a.detach(), b.detach())) << i;
    const auto eager = torch::autograd::grad({a}, {nodes, weight});
    const auto found = torch::autograd::grad({b}, {nodes, weight});
    EXPECT_TRUE(same_values(eager[0], found[0]) && same_values(eager[1], found[1])) << i;
  }
  EXPECT_GE(compiled.report().forward_checks, 20u);
}

TEST(NewSizes, BeyondTheMostThatAreKeptAreServed) {
  Options options;
  options.max_sizes = 64;
  options.compile_all_sizes = true;
  auto compiled = compile([](const Tensor& x) { return x.cos(); }, options);
  for (int64_t n = 2; n < 300; ++n) {
    const auto x = torch::randn({n});
    EXPECT_TRUE(same_values(x.cos(), compiled(x)));
  }
  EXPECT_EQ(compiled.report().captures, 2u);
}

/// Calls the function with `count` sizes and compares with eager.
template <class F>
Report stream_of_sizes(const std::function<Tensor(const Tensor&)>& program, F& compiled, const Tensor& weight,
                       int64_t first, int64_t count) {
  for (int64_t n = first; n < first + count; ++n)
    expect_same(run(program, n, weight), run(compiled, n, weight), n);
  return compiled.report();
}

TEST(NewSizes, OfSmallOpsRunUncompiledWhereTheyDoNotRepeat) {
  const auto weight = make_weight();
  const std::function<Tensor(const Tensor&)> program = [&](const Tensor& x) {
    return (x * weight).tanh().sum(0);
  };
  auto compiled = compile(program);
  const auto met = stream_of_sizes(program, compiled, weight, 3, 150);
  EXPECT_EQ(met.captures, 2u);
  EXPECT_EQ(met.eager_calls, 150u - 2 - met.sizes);
  EXPECT_GE(met.eager_calls, 110u);
  ASSERT_EQ(met.eager_reasons.size(), 1u);
  EXPECT_NE(met.eager_reasons[0].find("at sizes that it has not met before"), std::string::npos);
  const auto again = stream_of_sizes(program, compiled, weight, 143, 10);
  EXPECT_EQ(again.eager_calls, met.eager_calls);
  EXPECT_EQ(again.sizes, met.sizes + 10);
  for (int i = 0; i < 256; ++i) run(compiled, 150, weight);
  const auto after = stream_of_sizes(program, compiled, weight, 1000, 10);
  EXPECT_EQ(after.eager_calls, met.eager_calls) << "the stream has ended";
}

TEST(NewSizes, OfAStreamStayUncompiledAfterCallsAtSizesMetBefore) {
  const auto weight = make_weight();
  const std::function<Tensor(const Tensor&)> program = [&](const Tensor& x) {
    return (x * weight).tanh().sum(0);
  };
  auto compiled = compile(program);
  const auto first = stream_of_sizes(program, compiled, weight, 3, 60);
  const auto again = stream_of_sizes(program, compiled, weight, 3, 60);
  EXPECT_EQ(again.eager_calls, first.eager_calls);
  const auto more = stream_of_sizes(program, compiled, weight, 63, 40);
  EXPECT_EQ(more.eager_calls, first.eager_calls + 40);
}

TEST(NewSizes, OfUncompiledCallsHaveSecondDerivatives) {
  const auto weight = make_weight();
  const auto program = [&](const Tensor& x) { return (x * weight).tanh().pow(3).sum(); };
  auto compiled = compile(program);
  const auto second = [&](const auto& f, int64_t n) {
    manual_seed(static_cast<uint64_t>(n));
    const auto x = torch::randn({n, 3}, at::kDouble).requires_grad_();
    const auto first = torch::autograd::grad({f(x)}, {x}, {}, std::nullopt, /*create_graph=*/true)[0];
    return torch::autograd::grad({first.square().sum()}, {x, weight});
  };
  for (int64_t n = 3; n < 100; ++n) {
    const auto eager = second(program, n), ours = second(compiled, n);
    for (size_t i = 0; i < eager.size(); ++i) EXPECT_TRUE(same_values(eager[i], ours[i])) << n;
  }
  EXPECT_GE(compiled.report().eager_calls, 60u);
}

TEST(NewSizes, OfTrainingStepsRunUncompiledWhereTheyDoNotRepeat) {
  manual_seed(1);
  const auto theirs = make_weight(), ours = theirs.detach().clone().requires_grad_();
  torch::optim::Adam eager({theirs}, 0.1), compiled({ours}, 0.1);
  auto step = training_step([&](const Tensor& x) { return (x * ours).tanh().square().sum(); }, compiled);
  for (int64_t n = 3; n < 100; ++n) {
    const auto x = torch::randn({n, 3}, at::kDouble);
    eager.zero_grad();
    const auto loss = (x * theirs).tanh().square().sum();
    loss.backward();
    eager.step();
    EXPECT_TRUE(same_values(loss, step(x))) << n;
    EXPECT_TRUE(same_values(theirs, ours)) << n;
  }
}

// At 15, 3, 21 and 32 the last of three chunks is as long as floor((3 n + 7) / 10) says, which code is made
// for; the forward passes of more sizes tell the two apart.
TEST(NewSizes, ThatAgreeWithTheForwardPassAreCheckedAgainstTheCodeToo) {
  const std::function<std::vector<Tensor>(const Tensor&, const Tensor&)> program = [](const Tensor& x,
                                                                                      const Tensor& y) {
    return std::vector<Tensor>{x.chunk(3)[2].log_softmax(0), y};
  };
  const auto compiled = compile(program);
  for (const int64_t n : {16, 15, 3, 21, 32, 65, 78, 80, 100, 101, 102}) {
    const auto x = torch::randn({n}, at::kDouble).requires_grad_(),
               y = torch::randn({2, 3, n + 2}, at::kDouble);
    const auto eager = program(x, y)[0], ours = compiled(x, y)[0];
    ASSERT_EQ(eager.sizes(), ours.sizes()) << n;
    EXPECT_TRUE(up_to_rounding(eager, ours)) << n;
    EXPECT_TRUE(up_to_rounding(torch::autograd::grad({eager.square().sum()}, {x})[0],
                               torch::autograd::grad({ours.square().sum()}, {x})[0]))
        << n;
  }
}

TEST(NewSizes, AreAllCompiledOnRequestAndWhereOpsAreLarge) {
  const auto weight = make_weight();
  const std::function<Tensor(const Tensor&)> program = [&](const Tensor& x) { return (x * weight).exp(); };
  Options options;
  options.compile_all_sizes = true;
  auto on_request = compile(program, options);
  EXPECT_EQ(stream_of_sizes(program, on_request, weight, 3, 100).eager_calls, 0u);
  const auto wide = torch::randn({3, 1 << 16}, at::kDouble);
  const std::function<Tensor(const Tensor&)> large = [&](const Tensor& x) {
    return (x * weight).mm(wide).sum(1);
  };
  auto compiled = compile(large);
  c10::NoGradGuard no_grad;
  for (int64_t n = 2; n < 90; ++n) compiled(torch::randn({n, 3}, at::kDouble));
  EXPECT_EQ(compiled.report().eager_calls, 0u);
}

}  // namespace
}  // namespace antegrad::test
