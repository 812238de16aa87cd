// Graph breaks: functions that read data are compiled in parts (docs/graph-breaks.md).
#include <ATen/autocast_mode.h>

#include <sstream>

#include "cpu/breaks/in_parts.h"

namespace antegrad::test {
namespace {

Tensors two_leaves(int) { return {leaf({4, 3}), leaf({3, 3})}; }

TEST(Breaks, BranchOnAValue) {
  const auto report = same_in_parts(
      [](const Tensors& in) -> Tensors {
        auto y = (in[0].matmul(in[1])).tanh();
        if (y.sum().item<double>() > 0) return {y.exp() * 2, y};
        return {y.sin() - 1, y.square()};
      },
      two_leaves, {.calls = 8});
  ASSERT_EQ(report.breaks.size(), 1U);
  const auto& [why, count] = *report.breaks.begin();
  EXPECT_EQ(count, 8U);
  EXPECT_TRUE(contains(why, "aten._local_scalar_dense"));
  EXPECT_TRUE(contains(why, "after aten."));
  EXPECT_LE(report.stretches, 5U);
}

TEST(Breaks, LoopUntilLarge) {
  same_in_parts(
      [](const Tensors& in) -> Tensors {
        auto y = in[0];
        while (y.norm().item<double>() < 1000) y = y.matmul(in[1]) * 2 + y;
        return {y};
      },
      two_leaves);
}

TEST(Breaks, NumbersReadAreUsedAgain) {
  const auto report = same_in_parts(
      [](const Tensors& in) -> Tensors {
        auto y = in[0].exp() * in[1].sum();
        const double scale = y.abs().max().item<double>();
        auto z = (y / scale).sin();
        return {z * z, z.mean() * scale};
      },
      two_leaves, {.calls = 6});
  // Once for the first number, once for all others.
  EXPECT_LE(report.stretches, 5U);
}

TEST(Breaks, WritesToArgumentsBetweenBreaks) {
  same_in_parts(
      [](const Tensors& in) -> Tensors {
        auto y = in[0] * 2;
        in[1].add_(y.detach().sum());
        const auto seen = in[1].sum().item<float>();
        in[1].mul_(0.5);
        auto z = y * in[1].clone() + seen;
        in[1].sub_(1);
        return {z, in[1]};
      },
      [](int) {
        return Tensors{leaf({3, 3}), torch::randn({3, 3})};
      });
}

TEST(Breaks, WritesWithHistoriesToArguments) {
  same_in_parts(
      [](const Tensors& in) -> Tensors {
        in[1].mul_(in[0]);
        const auto seen = in[1].sum().item<float>();
        in[1].add_(in[0] * seen);
        return {in[1] * 2};
      },
      [](int) {
        return Tensors{leaf({3}), torch::randn({3})};
      });
}

TEST(Breaks, ViewsAcrossBreaks) {
  same_in_parts(
      [](const Tensors& in) -> Tensors {
        auto y = in[0] * 2;
        auto row = y[1];
        auto columns = y.transpose(0, 1);
        if (row.sum().item<float>() > 100) return {y};
        row.mul_(3);
        const auto again = columns.sum().item<float>();
        columns.add_(again);
        return {y, row, columns, in[0].view({-1})};
      },
      [](int) {
        return Tensors{leaf({4, 3})};
      });
}

TEST(Breaks, ViewsOfArgumentsAcrossBreaks) {
  same_in_parts(
      [](const Tensors& in) -> Tensors {
        auto row = in[0][1];
        auto sum = in[0].sum();
        if (sum.item<float>() > 1000) return {sum};
        row.mul_(2);
        auto after = in[0].sum();
        return {after, row, after.item<float>() > 0 ? row + 1 : row - 1};
      },
      [](int) {
        return Tensors{torch::randn({4, 3})};
      });
}

TEST(Breaks, SizesThatDependOnData) {
  same_in_parts(
      [](const Tensors& in) -> Tensors {
        auto y = in[0].matmul(in[1]).sin();
        auto positive = y.masked_select(y > 0);
        auto places = (y > 0).nonzero();
        auto indexed = y.index({y > 0.2});
        return {positive.sum(), places, indexed * 2, y};
      },
      two_leaves, {.calls = 5});
}

TEST(Breaks, VersionsOfViewsWithoutGradients) {
  same_in_parts(
      [](const Tensors& in) -> Tensors {
        auto view = in[0].view(at::kInt);
        at::add_out(view, view, view);
        in[0].data().add_(1);
        (void)view.any().item<bool>();
        view.data().add_(1);
        return {view};
      },
      [](int) { return Tensors{torch::ones({2}, at::kLong)}; });
}

TEST(Breaks, UniqueAndEqual) {
  same_in_parts(
      [](const Tensors& in) -> Tensors {
        auto rounded = (in[0] * 2).round();
        auto [values, inverse, counts] = at::_unique2(rounded.detach(), true, true, true);
        auto sum = in[0].sum();
        if (at::equal(rounded, in[0])) sum = sum + 1;
        return {values, counts, sum * static_cast<double>(values.size(0))};
      },
      two_leaves);
}

TEST(Breaks, MemoryOfATensor) {
  same_in_parts(
      [](const Tensors& in) -> Tensors {
        auto y = in[0].exp();
        double sum = 0;
        const auto* data = y.const_data_ptr<float>();
        for (int64_t i = 0; i < y.numel(); ++i) sum += data[i];
        auto z = y * sum;
        auto accessor = z.accessor<float, 2>();
        accessor[0][0] > 10 ? sum += 1 : sum -= 1;
        auto copy = z.detach().clone();
        copy.data_ptr<float>()[0] = 42;
        return {z * sum, copy, copy * 2};
      },
      two_leaves);
}

TEST(Breaks, MemoryOfAChangedTensor) {
  same_in_parts(
      [](const Tensors& in) -> Tensors {
        auto y = in[0].detach() * 2;
        const float before = y.data_ptr<float>()[0];
        y.add_(1);
        const float after = y.data_ptr<float>()[0];
        return {y * (after - before)};
      },
      two_leaves);
}

TEST(Breaks, Printing) {
  std::vector<std::string> texts[2];
  for (const bool compiled : {false, true}) {
    auto& text = texts[compiled];
    const auto program = [&](const Tensors& in) -> Tensors {
      auto y = in[0].matmul(in[1]);
      std::ostringstream out;
      out << y << y.sum() << y.to(at::kLong);
      text.push_back(out.str());
      return {y * 2};
    };
    const auto function = compile(program, in_parts());
    for (int call = 0; call < 3; ++call) {
      test::manual_seed(call);
      const auto in = Tensors{torch::randint(-9, 9, {4, 3}).to(at::kFloat), torch::ones({3, 3})};
      if (compiled)
        function(in);
      else
        program(in);
    }
  }
  EXPECT_EQ(texts[0], texts[1]);
}

TEST(Breaks, RejectionSampling) {
  const auto report = same_in_parts(
      [](const Tensors& in) -> Tensors {
        auto best = torch::randn_like(in[0]);
        int tries = 0;
        while ((best * in[0].detach()).sum().item<float>() < 1) {
          best = torch::randn_like(in[0]) + 0.1;
          ++tries;
        }
        return {best * in[0], torch::bernoulli(best.sigmoid()), torch::full({}, tries)};
      },
      two_leaves, {.calls = 6});
  EXPECT_LE(report.stretches, 5U);
}

TEST(Breaks, HooksInside) {
  for (const bool compiled : {false, true}) {
    int called = 0;
    const auto program = [&](const Tensors& in) -> Tensors {
      auto y = in[0].sin();
      y.register_hook([&](const at::Tensor& gradient) {
        ++called;
        return gradient * 3;
      });
      auto z = y * 2;
      if (z.sum().item<float>() > 100) return {z};
      auto w = z.exp();
      w.retain_grad();
      w.sum().item<float>();
      return {w + z};
    };
    if (!compiled) same_in_parts(program, two_leaves, {.second_order = false});
    called = 0;
    const auto function = compile(program, in_parts());
    auto in = two_leaves(0);
    (compiled ? function(in) : program(in))[0].sum().backward();
    EXPECT_EQ(called, 1);
  }
}

struct Cube : torch::autograd::Function<Cube> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x) {
    context->save_for_backward({x});
    if (x.sum().item<float>() > 1000) return x;
    return x * x * x;
  }
  static Tensors backward(torch::autograd::AutogradContext* context, Tensors gradients) {
    const auto x = context->get_saved_variables()[0];
    return {gradients[0] * x * x * 2};  // wrong on purpose: eager must not be asked instead
  }
};

TEST(Breaks, CustomFunctions) {
  same_in_parts(
      [](const Tensors& in) -> Tensors {
        auto y = Cube::apply(in[0].sin());
        if (y.sum().item<float>() > 1000) return {y};
        return {y * y.sum(), Cube::apply(y + 1)};
      },
      two_leaves);
}

TEST(Breaks, GradientsInside) {
  same_in_parts(
      [](const Tensors& in) -> Tensors {
        auto x = in[0].detach().requires_grad_();
        auto y = (x * in[1][0]).sin().sum();
        auto gradient = torch::autograd::grad({y}, {x}, {}, true, true)[0];
        const auto norm = gradient.norm().item<double>();
        return {gradient / norm, y, (gradient * in[0]).sum()};
      },
      two_leaves);
}

TEST(Breaks, ValueAndGrad) {
  const auto energy = [](const at::Tensor& x, const at::Tensor& w) {
    auto y = (x.matmul(w)).tanh();
    return y.sum().item<float>() > 0 ? y.square().sum() : y.exp().sum();
  };
  const auto compiled = antegrad::value_and_grad(energy, in_parts());
  for (int call = 0; call < 4; ++call) {
    test::manual_seed(call);
    const auto x = leaf({4, 3});
    const auto w = leaf({3, 3});
    const auto expected = energy(x, w);
    const auto gradients = torch::autograd::grad({expected}, {x, w});
    const auto [value, found] = compiled(x.detach(), w.detach());
    EXPECT_TRUE(close({expected.detach()}, {value}, 1e-5));
    EXPECT_TRUE(close(gradients, found, 1e-5));
  }
  EXPECT_EQ(compiled.report().eager_calls, 0U);
}

TEST(Breaks, BackwardInside) {
  same_in_parts(
      [](const Tensors& in) -> Tensors {
        auto loss = (in[0].matmul(in[1])).square().sum();
        loss.backward();
        const auto norm = in[0].grad().norm().item<double>();
        in[0].grad().mul_(1 / norm);
        return {loss.detach(), in[0].grad(), in[1].grad()};
      },
      two_leaves);
}

TEST(Breaks, BackwardAfterABreak) {
  same_in_parts(
      [](const Tensors& in) -> Tensors {
        auto hidden = in[0].matmul(in[1]).tanh();
        auto loss = hidden.square().sum();
        if (loss.item<double>() < 0) return {loss};
        loss.backward();
        const auto norm = in[0].grad().norm().item<double>();
        return {in[0].grad() / norm, in[1].grad(), loss.detach() * 2};
      },
      two_leaves);
}

TEST(Breaks, LeavesMadeInside) {
  same_in_parts(
      [](const Tensors& in) -> Tensors {
        auto weight = torch::ones({3}).requires_grad_();
        auto y = in[0] * weight;
        if (y.sum().item<float>() > 1000) return {y};
        return {y * 2, weight};
      },
      two_leaves, {.second_order = false});
}

TEST(Breaks, HeldTensorsDependOnEachOther) {
  same_in_parts(
      [](const Tensors& in) -> Tensors {
        auto hidden = in[0].matmul(in[1]).tanh();
        auto out = (hidden * hidden).sum();
        if (out.item<float>() > 1000) return {out};
        auto inner = torch::autograd::grad({out}, {hidden}, {}, true, true)[0];
        hidden.retain_grad();
        return {inner * 2, out};
      },
      two_leaves, {.second_order = false});
}

TEST(Breaks, Explains) {
  const auto function = compile(
      [](const at::Tensor& x) { return x.sin().sum().item<float>() > 0 ? x * 2 : x * 3; }, in_parts());
  EXPECT_TRUE(contains(function.explain(torch::ones({2})).reasons, "known after the first call"));
  function(torch::ones({2}));
  const auto explained = function.explain(torch::ones({2}));
  EXPECT_TRUE(contains(explained.reasons, "break, 1 times: [break:aten._local_scalar_dense]"));
  EXPECT_TRUE(contains(explained.graph, "aten.sin"));
}

TEST(Breaks, NoGradAndDetach) {
  same_in_parts(
      [](const Tensors& in) -> Tensors {
        at::Tensor norm;
        {
          torch::NoGradGuard no_grad;
          norm = in[0].norm();
          if (norm.item<float>() > 1000) return {norm};
        }
        auto y = in[0] / norm;
        auto free = y.detach() * 2;
        free.sum().item<float>();
        return {y * free, free, norm, y.detach()};
      },
      two_leaves);
}

TEST(Breaks, ExceptionsHaveEagersEffects) {
  const auto program = [](const Tensors& in) -> Tensors {
    in[0].add_(1);
    if (in[0].sum().item<float>() > 1000) return {};
    in[0].mul_(2);
    if (in.size() > 1) return {in[0].matmul(in[1])};
    throw std::runtime_error("the function's own");
  };
  const auto function = compile(program, in_parts());
  for (int call = 0; call < 3; ++call) {
    auto eager = torch::ones({2, 3});
    auto compiled = torch::ones({2, 3});
    EXPECT_THROW(program({eager}), std::runtime_error);
    EXPECT_THROW(function(Tensors{compiled}), std::runtime_error);
    EXPECT_TRUE(same_state(eager, compiled));
    std::string texts[2];
    try {
      program({eager, torch::ones({5, 5})});
    } catch (const c10::Error& error) {
      texts[0] = error.what_without_backtrace();
    }
    try {
      function(Tensors{compiled, torch::ones({5, 5})});
    } catch (const c10::Error& error) {
      texts[1] = error.what_without_backtrace();
    }
    EXPECT_FALSE(texts[0].empty());
    EXPECT_EQ(texts[0], texts[1]);
    EXPECT_TRUE(same_state(eager, compiled));
  }
}

TEST(Breaks, TensorsThatTheFunctionKeeps) {
  std::vector<at::Tensor> kept[2];
  for (const bool compiled : {false, true}) {
    const auto program = [&](const Tensors& in) -> Tensors {
      auto y = in[0] * 2;
      kept[compiled].push_back(y);
      if (y.sum().item<float>() > 1000) return {y};
      kept[compiled].push_back(y[0]);
      kept[compiled].push_back(y + 1);
      return {y.sum()};
    };
    const auto function = compile(program, in_parts());
    for (int call = 0; call < 3; ++call) {
      test::manual_seed(call);
      const auto in = two_leaves(call);
      if (compiled)
        function(in);
      else
        program(in);
    }
  }
  EXPECT_TRUE(same(kept[0], kept[1]));
  for (size_t i = 0; i < kept[0].size(); ++i) EXPECT_EQ(kept[0][i].is_view(), kept[1][i].is_view());
}

TEST(Breaks, Autocast) {
  same_in_parts(
      [](const Tensors& in) -> Tensors {
        at::autocast::set_autocast_enabled(at::kCPU, true);
        auto y = in[0].matmul(in[1]);
        const auto sum = y.sum().item<float>();
        auto z = y.matmul(in[1]) * sum;
        at::autocast::clear_cache();
        at::autocast::set_autocast_enabled(at::kCPU, false);
        return {z, y.to(at::kFloat)};
      },
      two_leaves, {.second_order = false, .rounding = 1e-2});
}

TEST(Breaks, InferenceMode) {
  same_in_parts(
      [](const Tensors& in) -> Tensors {
        auto y = in[0] * 2;
        at::Tensor inner;
        {
          c10::InferenceMode mode;
          inner = y.exp() + 1;
          if (inner.sum().item<float>() < 0) return {y};
          inner = inner * 2;
        }
        return {y * 3, inner};
      },
      two_leaves);
}

TEST(Breaks, HostData) {
  same_in_parts(
      [](const Tensors& in) -> Tensors {
        auto y = in[0] * 2;
        auto anchors = torch::tensor({1.0F, 2.0F, 3.0F});
        auto z = y * anchors;
        std::vector<float> memory = {1, 2, 3, static_cast<float>(z.sum().item<double>())};
        auto blob = torch::from_blob(memory.data(), {4});
        auto w = z * blob.clone()[3];
        memory[3] = 7;
        auto v = w + blob[3];
        blob.add_(1);
        return {v, torch::full({}, memory[0])};
      },
      two_leaves);
}

TEST(Breaks, FunctionsThatNeverBreakAreCompiledWhole) {
  const auto report = same_in_parts([](const Tensors& in) -> Tensors { return {in[0].sin() * 2}; },
                                    two_leaves, {.must_break = false});
  EXPECT_EQ(report.broken_calls, 0U);
  EXPECT_EQ(report.waiting_calls, 1U);  // the first one, which finds no break
  EXPECT_EQ(report.captures, 1U);
  EXPECT_EQ(report.stretches, 0U);
}

}  // namespace
}  // namespace antegrad::test
