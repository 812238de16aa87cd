// Backward passes of compiled functions and traceable custom functions as parts of one captured graph.
#include <torch/csrc/autograd/engine.h>

#include "cpu/compiled_autograd/compiled_autograd_fixture.h"
#include "support/seeds.h"

namespace antegrad::test {
namespace {

using compiled_autograd::Stance;

class CompiledAutogradInlineTest : public CompiledAutogradTest {};

/// Checks that the backward pass is one graph: captured once, then found, whatever its tensors contain.
void is_one_graph(const std::function<Tensors()>& program) {
  program();  // compiles the forward passes
  compiled_autograd::reset();
  same_as_eager(program);
  EXPECT_EQ(compiled_autograd::stats().captures, 1u);
  compiled_autograd::set_stance(Stance::FailOnRecompile);
  same_as_eager(program);
  compiled_autograd::set_stance(Stance::Normal);
}

TEST_F(CompiledAutogradInlineTest, ThreeCompiledFunctionsAndWhatIsBetweenAreOneGraph) {
  const auto first = compile([](const Tensor& x, const Tensor& w) { return at::tanh(at::mm(x, w)); });
  const auto second = compile([](const Tensor& x) { return at::softmax(x * x, 1); });
  const auto third = compile([](const Tensor& x, const Tensor& b) { return (x + b).sigmoid(); });
  is_one_graph([&] {
    const auto x = leaf({4, 5}), w = leaf({5, 6}), b = leaf({6});
    const auto h = second(first(x, w).sin()) * 3.0;
    (third(h.exp(), b).pow(2).sum() + h.mean()).backward();
    return Tensors{x.grad(), w.grad(), b.grad()};
  });
  const auto graph = compiled_autograd::graph();
  for (const auto* text : {"aot", "SinBackward0", "ExpBackward0"})
    EXPECT_NE(graph.find(text), std::string::npos) << text << "\n" << graph;
}

TEST_F(CompiledAutogradInlineTest, GradientsThatAreViewsOfOthers) {
  const auto turn = compile([](const Tensor& x) { return x.t(); });
  const auto part = compile([](const Tensor& x) { return x.narrow(0, 1, 2) + 1; });
  const auto shift = compile([](const Tensor& x) { return x + 1; });
  is_one_graph([&] {
    const auto x = leaf({4, 3}), y = leaf({4, 3});
    const auto h = turn(shift(x)) * 2.0;
    (part(h).sum() + part(y.sin()).sum() + shift(y).t().sum()).backward();
    return Tensors{x.grad(), y.grad()};
  });
}

TEST_F(CompiledAutogradInlineTest, OnlySomeOutputsAreUsed) {
  const auto both =
      compile([](const Tensor& x, const Tensor& y) { return std::make_tuple(x * y, (x + y).exp()); });
  for (int used = 0; used < 3; ++used)
    is_one_graph([&] {
      const auto x = leaf({3}), y = leaf({3});
      const auto [a, b] = both(x, y);
      auto loss = at::zeros({});
      if (used != 1) loss = loss + a.sin().sum();
      if (used != 0) loss = loss + b.cos().sum();
      loss.backward();
      return Tensors{x.grad(), y.grad()};
    });
}

TEST_F(CompiledAutogradInlineTest, OnlySomeGradientsAreWanted) {
  const auto product = compile([](const Tensor& x, const Tensor& y) { return at::mm(x, y).tanh(); });
  is_one_graph([&] {
    const auto x = leaf({3, 3}), y = leaf({3, 3});
    product(x, y).sin().sum().backward({}, std::nullopt, false, Tensors{y});
    EXPECT_FALSE(x.grad().defined());
    return Tensors{y.grad()};
  });
}

TEST_F(CompiledAutogradInlineTest, DropoutMakesItsMaskAgain) {
  const auto drop = compile([](const Tensor& x) { return at::dropout(x, 0.5, true) * x; });
  is_one_graph([&] {
    const auto x = leaf({64});
    const auto y = drop(x.sin());
    y.exp().sum().backward();
    return Tensors{x.grad(), y.detach()};
  });
}

TEST_F(CompiledAutogradInlineTest, AGraphThatIsKeptRunsAgain) {
  const auto f = compile([](const Tensor& x) { return x.sin() * x; });
  is_one_graph([&] {
    const auto x = leaf({5});
    const auto loss = f(x).exp().sum();
    loss.backward({}, true);
    loss.backward();
    return Tensors{x.grad()};
  });
}

TEST_F(CompiledAutogradInlineTest, FunctionsOverSymbols) {
  Options options;
  options.dynamic = Dynamic::All;
  const auto f = compile([](const Tensor& x) { return at::layer_norm(x, {x.size(1)}) * x; }, options);
  const auto step = [&](int64_t rows, int64_t columns) {
    const auto x = leaf({rows, columns});
    f(x).sin().sum().backward();
    return Tensors{x.grad()};
  };
  same_as_eager([&] { return step(3, 8); });
  same_as_eager([&] { return step(5, 8); });
  same_as_eager([&] { return step(4, 12); });
}

// CAU-13
TEST_F(CompiledAutogradInlineTest, SizesBecomeSymbols) {
  const auto step = [](int64_t rows) {
    return [rows] {
      const auto x = leaf({rows, 8}), w = leaf({8, 4});
      at::softmax(at::mm(x, w).sin(), 1).mean(0).exp().sum().backward();
      return Tensors{x.grad(), w.grad()};
    };
  };
  for (int64_t rows : {3, 5, 7, 11, 6, 13, 64}) same_as_eager(step(rows));
  EXPECT_EQ(stats().captures, 2u) << stats().capture_reasons.back();
}

// CAU-11, CAU-12
TEST_F(CompiledAutogradInlineTest, SizesOfCompiledFunctionsBecomeSymbolsToo) {
  const auto f = compile([](const Tensor& x, const Tensor& w) { return at::mm(x, w).tanh() * 2; });
  const auto step = [&](int64_t rows) {
    return [&f, rows] {
      const auto x = leaf({rows, 8}), w = leaf({8, 4});
      f(x.sin(), w).mean(0).exp().sum().backward();
      return Tensors{x.grad(), w.grad()};
    };
  };
  for (int64_t rows : {3, 5}) step(rows)();  // makes a version over symbols
  compiled_autograd::reset();
  for (int64_t rows : {7, 11, 6, 13, 64, 31, 9, 100, 10}) same_as_eager(step(rows));
  EXPECT_EQ(stats().captures, 2u) << stats().capture_reasons.back();
}

TEST_F(CompiledAutogradInlineTest, AFunctionOfOtherCodeIsNotTakenForIt) {
  const auto sine = compile([](const Tensor& x) { return x.sin() * x; });
  const auto cosine = compile([](const Tensor& x) { return x.cos() * x; });
  const CompiledAutograd on;
  const auto gradient = [](const auto& f) {
    const auto x = torch::ones({3}).set_requires_grad(true);
    f(x).exp().sum().backward();
    return x.grad();
  };
  EXPECT_FALSE(at::allclose(gradient(sine), gradient(cosine)));
  EXPECT_EQ(stats().captures, 2u);
}

TEST_F(CompiledAutogradInlineTest, AScaleThatChangesIsNoReasonToCapture) {
  const auto with_scale = [](double scale) {
    return [scale] {
      const auto x = leaf({4});
      (x.sin().sum() * scale / (scale + 1)).backward();
      return Tensors{x.grad()};
    };
  };
  for (double scale : {2.0, 3.5, 0.0, -1e6}) same_as_eager(with_scale(scale));
  EXPECT_EQ(stats().captures, 1u);
}

struct Cube : public torch::autograd::Function<Cube> {
  static constexpr bool is_traceable = true;
  static inline int calls = 0;
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& x, double factor) {
    context->save_for_backward({x});
    context->saved_data["factor"] = factor;
    return x * x * x * factor;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    ++calls;
    const auto x = context->get_saved_variables()[0];
    return {gradients[0] * 3 * x * x * context->saved_data["factor"].toDouble(), Tensor()};
  }
};

TEST_F(CompiledAutogradInlineTest, TraceableCustomFunctionsAreTraced) {
  const auto program = [](double factor) {
    return [factor] {
      const auto x = leaf({4});
      Cube::apply(x.sin(), factor).exp().sum().backward();
      return Tensors{x.grad()};
    };
  };
  is_one_graph(program(2.0));
  same_as_eager(program(3.0));
  const auto calls = Cube::calls;
  {
    const CompiledAutograd on;
    program(3.0)();
  }
  EXPECT_EQ(Cube::calls, calls);  // its ops are in the graph
}

struct Window : public torch::autograd::Function<Window> {
  static constexpr bool is_traceable = true;
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& x, int64_t count) {
    context->save_for_backward({x});
    context->saved_data["count"] = count;
    return x.narrow(0, 0, count) * count;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto x = context->get_saved_variables()[0];
    const auto count = context->saved_data["count"].toInt();
    const auto padding = at::zeros({x.size(0) - count}, x.options());
    return {at::cat({gradients[0] * count, padding}), Tensor()};
  }
};

// CAU-32, CAU-35
TEST_F(CompiledAutogradInlineTest, SizesAndIntegersOfTraceableFunctionsBecomeSymbols) {
  const auto program = [](int64_t rows, int64_t count) {
    return [=] {
      const auto x = leaf({rows});
      Window::apply(x.sin(), count).exp().sum().backward();
      return Tensors{x.grad()};
    };
  };
  for (const auto& [rows, count] :
       std::vector<std::pair<int64_t, int64_t>>{{9, 3}, {11, 3}, {15, 3}, {15, 5}})
    same_as_eager(program(rows, count));
  const auto captures = stats().captures;
  for (const auto& [rows, count] : std::vector<std::pair<int64_t, int64_t>>{{20, 6}, {17, 13}, {40, 7}})
    same_as_eager(program(rows, count));
  EXPECT_EQ(stats().captures, captures) << stats().capture_reasons.back();
}

// CAU-31
TEST_F(CompiledAutogradInlineTest, GradientsOfHalfPrecisionAreNotConverted) {
  same_as_eager([] {
    const auto x = torch::randn({4, 6}, at::kBFloat16).set_requires_grad(true);
    x.view({3, 8}).sin().sum().backward();
    return Tensors{x.grad()};
  });
  EXPECT_EQ(compiled_autograd::graph().find("_to_copy"), std::string::npos) << compiled_autograd::graph();
}

// CAU-17
TEST_F(CompiledAutogradInlineTest, SparseGradientsWithAHistory) {
  const auto gradient = [](bool compiled) {
    test::manual_seed(2);
    const CompiledAutograd guard(compiled);
    const auto weight = leaf({5, 2});
    const auto rows = torch::tensor({1, 3, 1});
    at::embedding(weight, rows, -1, false, /*sparse=*/true).pow(2).sum().backward({}, true, true);
    return weight.grad();
  };
  const auto eager = gradient(false), compiled = gradient(true);
  EXPECT_TRUE(compiled.is_sparse());
  EXPECT_EQ(eager.requires_grad(), compiled.requires_grad());
  EXPECT_TRUE(at::allclose(eager.to_dense(), compiled.to_dense()));
}

TEST_F(CompiledAutogradInlineTest, CallbacksForTheEndOfThePassRunThere) {
  std::vector<std::string> log;
  const auto program = [&] {
    log.clear();
    const auto x = leaf({4});
    const auto h = x.sin();
    h.register_hook([&](const Tensor& gradient) {
      log.push_back("hook");
      torch::autograd::Engine::get_default_engine().queue_callback(
          [&, x] { log.push_back(x.grad().defined() ? "end" : "too early"); });
      return gradient;
    });
    h.exp().sum().backward();
    return Tensors{x.grad()};
  };
  same_as_eager(program);
  EXPECT_EQ(log, (std::vector<std::string>{"hook", "end"}));
}

struct Wants : public torch::autograd::Function<Wants> {
  static inline std::vector<bool> told;
  static Tensor forward(torch::autograd::AutogradContext*, const Tensor& x, const Tensor& y) { return x * y; }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    told = {context->needs_input_grad(0), context->needs_input_grad(1)};
    return {gradients[0], gradients[0]};
  }
};

// CAU-42
TEST_F(CompiledAutogradInlineTest, CustomFunctionsAreToldWhatIsWanted) {
  same_as_eager([&] {
    const auto x = leaf({3}), y = leaf({3});
    Wants::apply(x, y).sum().backward({}, std::nullopt, false, Tensors{y});
    EXPECT_EQ(Wants::told, (std::vector<bool>{false, true}));
    return Tensors{y.grad()};
  });
}

}  // namespace
}  // namespace antegrad::test
