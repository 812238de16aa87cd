// Capture and functionalization: arguments, results, what the graph holds, ambient modes.
#include <ATen/autocast_mode.h>

#include "support/against_eager.h"
#include "support/closeness.h"

namespace antegrad::test {
namespace {

using at::Tensor;

auto one_matrix() { return std::tuple(torch::randn({3, 4})); }
auto two_matrices() { return std::tuple(torch::randn({3, 4}), torch::randn({3, 4})); }

TEST(Calling, NumbersAndNullsAmongTensors) {  // CAP-01
  auto function = [](const Tensor& a, std::nullptr_t, int64_t n, const Tensor& none,
                     const std::optional<Tensor>& maybe, const Tensor& b, std::nullopt_t, double f) {
    EXPECT_FALSE(none.defined());
    EXPECT_FALSE(maybe.has_value());
    b.mul_(f);
    return std::tuple(a * n + b, none, n, maybe, f);
  };
  for (const bool requires_grad : {false, true}) {
    auto make = [=] {
      auto a = torch::randn({3}).requires_grad_(requires_grad);
      return std::tuple(a, nullptr, int64_t{2}, Tensor(), std::optional<Tensor>(), torch::randn({3}),
                        std::nullopt, 0.5);
    };
    against_eager(function, make, {.grad_mode = !requires_grad});
  }
}

TEST(Calling, ContainersOfResults) {  // CAP-02
  against_eager([](const Tensor& a) { return std::tuple(a + 1, a.sum(), a.t()); }, one_matrix);
  against_eager([](const Tensor& a) { return Tensors{a + 1, a, a + 1, Tensor()}; }, one_matrix);
  against_eager([](const Tensor& a) { return std::array<Tensor, 2>{a * 2, a * 3}; }, one_matrix);
  against_eager(
      [](const Tensor& a) {
        return std::pair(Tensors{}, std::vector<std::pair<Tensor, int>>{{a + 1, 7}, {a, 8}});
      },
      one_matrix);
  against_eager([](const Tensor& a) { return std::optional<Tensor>(a.exp()); }, one_matrix);
}

TEST(Calling, MapsInAndOut) {  // CAP-03
  using Map = std::map<std::string, Tensor>;
  auto make = [] { return std::tuple(Map{{"b", torch::randn({3})}, {"a", torch::randn({3})}}); };
  against_eager(
      [](const Map& in) {
        auto sum = in.at("a") + 2 * in.at("b");
        in.at("b").add_(1);
        return Map{{"first", sum}, {"second", sum}, {"in", in.at("b")}, {"view", sum.view({3, 1})}};
      },
      make);
}

struct State {
  Tensor position;
  int64_t step = 0;
  std::vector<Tensor> history;
};
auto antegrad_fields(State& s) { return std::tie(s.position, s.step, s.history); }

TEST(Calling, StructsInAndOut) {  // CAP-03
  auto make = [] { return std::tuple(State{torch::randn({2}), 4, {torch::randn({2})}}); };
  against_eager(
      [](const State& s) {
        State next = s;
        next.history.push_back(s.position.clone());
        next.position = s.position * s.step;
        ++next.step;
        return next;
      },
      make);
}

TEST(Calling, GraphComputesWithNewData) {  // CAP-05
  auto compiled = compile([](const Tensor& a, const Tensor& b) { return a * b.sin() + torch::ones({3}); });
  for (int call = 0; call < 3; ++call) {
    auto a = torch::randn({3});
    auto b = torch::randn({3});
    EXPECT_TRUE(test::same_values(a * b.sin() + 1, compiled(a, b)));
  }
  EXPECT_EQ(compiled.report().captures, 1U);
}

// The first half of CAP 09, without gradients of the parameters.
TEST(CapturedModules, ParametersAndBuffersAreGraphInputs) {
  at::NoGradGuard no_grad;
  torch::nn::Sequential net(torch::nn::Linear(4, 3), torch::nn::BatchNorm1d(3), torch::nn::ReLU());
  auto compiled = compile(net);
  auto x = torch::randn({5, 4});
  auto before = net->buffers()[0].clone();
  net->eval();
  EXPECT_TRUE(test::same_values(net->forward(x), compiled(x)));
  const auto text = compiled.graph();
  EXPECT_EQ(count(text, " param "), 4U) << text;
  EXPECT_EQ(count(text, " buffer "), 2U) << text;
  EXPECT_NE(text.find("\"0.weight\""), std::string::npos) << text;
  net->parameters()[0].mul_(2);  // the new value is read without a new capture
  EXPECT_TRUE(test::same_values(net->forward(x), compiled(x)));
  EXPECT_EQ(compiled.report().captures, 1U);
  EXPECT_TRUE(at::equal(before, net->buffers()[0]));
}

TEST(Graph, InPlaceOpsOnIntermediatesAreFunctional) {  // CAP-10
  auto relu = [](const Tensor& a) { return a.sin().relu_(); };
  against_eager(relu, one_matrix);
  auto compiled = compile(relu);
  compiled(torch::randn({3}));
  EXPECT_EQ(count(compiled.graph(), "aten.relu("), 1U) << compiled.graph();
  EXPECT_EQ(count(compiled.graph(), "aten.relu_("), 0U) << compiled.graph();
}

TEST(Graph, InPlaceCompositeOpOnAClone) {  // CAP-11
  auto absolute = [](const Tensor& a) { return a.clone().absolute_().negative_(); };
  against_eager(absolute, one_matrix);
  auto compiled = compile(absolute);
  compiled(torch::randn({3}));
  const auto text = compiled.graph();
  EXPECT_EQ(count(text, "aten.abs("), 1U) << text;
  EXPECT_EQ(count(text, "absolute"), 0U) << text;
  EXPECT_EQ(count(text, "aten.neg("), 1U) << text;
}

// CAP 12 and CAP 14 without their training half.
TEST(Graph, LinearIsTransposeAndAddmm) {
  auto linear = [](const Tensor& x, const Tensor& w, const Tensor& b) { return at::linear(x, w, b); };
  auto make = [] { return std::tuple(torch::randn({2, 4}), torch::randn({3, 4}), torch::randn({3})); };
  against_eager(linear, make);
  auto compiled = compile(linear);
  auto check = [&] {
    compiled(torch::randn({2, 4}), torch::randn({3, 4}), torch::randn({3}));
    const auto text = compiled.graph();
    EXPECT_EQ(count(text, "aten.addmm("), 1U) << text;
    EXPECT_EQ(count(text, "aten.t("), 1U) << text;
    EXPECT_EQ(count(text, "\n  out "), 1U) << text;
  };
  check();
  c10::InferenceMode inference;
  check();
}

TEST(Graph, ComplexLinear) {
  auto function = [](const Tensor& x, const Tensor& w, const Tensor& b) {
    return at::linear(x, w, b).sum().abs();
  };
  against_eager(function, [] {
    const auto complex = at::TensorOptions(at::kComplexFloat);
    return std::tuple(torch::randn({1, 10}, complex), torch::randn({10, 10}, complex),
                      torch::randn({10}, complex));
  });
}

TEST(Graph, NormalizationsAreBitForBit) {  // CAP-16
  auto make = [] { return std::tuple(torch::randn({5, 20}), torch::randn({20}), torch::randn({20})); };
  against_eager(
      [](const Tensor& x, const Tensor& w, const Tensor& b) { return at::layer_norm(x, {20}, w, b); }, make);
  against_eager([](const Tensor& x, const Tensor& w, const Tensor&) { return at::rms_norm(x, {20}, w); },
                make);
}

TEST(Modes, BodyUnderNoGradNeedsNoGradients) {  // CAP-21
  auto function = [](const Tensor& a, const Tensor& b) {
    at::NoGradGuard no_grad;
    return (a * b).sin();
  };
  auto make = [] { return std::tuple(torch::randn({3}).requires_grad_(), torch::randn({3})); };
  against_eager(function, make);
  auto compiled = compile(function);
  auto out = compiled(torch::randn({3}).requires_grad_(), torch::randn({3}));
  EXPECT_FALSE(out.requires_grad());
  EXPECT_EQ(count(compiled.graph(), "\n  out "), 1U) << compiled.graph();
}

TEST(Modes, InferenceMode) {  // CAP-22
  c10::InferenceMode inference;
  auto make = [] {
    torch::nn::Sequential net(torch::nn::Linear(4, 3), torch::nn::LayerNorm(torch::nn::LayerNormOptions({3})),
                              torch::nn::GELU());
    return std::pair([net](const Tensor& x) mutable { return net->forward(x); }, net->parameters());
  };
  against_eager_with_state(make, [] { return std::tuple(torch::randn({5, 4})); }, {.grad_mode = false});
  auto batched = [] { return std::tuple(torch::randn({2, 3, 4}), torch::randn({2, 4, 5})); };
  against_eager([](const Tensor& a, const Tensor& b) { return a.matmul(b).softmax(-1); }, batched,
                {.grad_mode = false});
  against_eager(
      [](const Tensor& a, const Tensor& b) {
        a.mul_(2);
        return std::tuple(a.bmm(b), a[0]);
      },
      batched, {.grad_mode = false});
}

TEST(Modes, InferenceModeOverTensorsMadeOutsideIt) {  // CAP-22
  auto function = [](const Tensor& a, const Tensor& b) {
    a.add_(1);
    return std::tuple(a.matmul(b), a[0], a);
  };
  auto make = [] {
    c10::InferenceMode off(false);
    return std::tuple(torch::randn({2, 3, 4}), torch::randn({2, 4, 5}));
  };
  c10::InferenceMode inference;
  against_eager(function, make, {.grad_mode = false});
}

// CAP-25: the inner gradient has no graph, so no gradient is needed outside.
TEST(Modes, GradientTakenInside) {
  auto function = [](const Tensor& a) {
    auto leaf = a.detach().requires_grad_();
    auto loss = leaf.sin().exp().sum();
    return torch::autograd::grad({loss}, {leaf})[0];
  };
  against_eager(function, one_matrix, {.no_grad = false});
  auto of_argument = [](const Tensor& a) { return torch::autograd::grad({a.exp().sum()}, {a})[0]; };
  against_eager(of_argument, [] { return std::tuple(torch::randn({3}).requires_grad_()); },
                {.no_grad = false});
  // Two uses: the engine may or may not add their gradients in place, so only values are compared.
  auto compiled =
      compile([](const Tensor& a) { return torch::autograd::grad({(a * a.sin()).sum()}, {a})[0]; });
  auto x = torch::randn({3}).requires_grad_();
  for (int call = 0; call < 2; ++call)
    EXPECT_TRUE(test::same_values(torch::autograd::grad({(x * x.sin()).sum()}, {x})[0], compiled(x)));
  EXPECT_FALSE(x.grad().defined());
}

class Autocast {
 public:
  explicit Autocast(at::ScalarType dtype) {
    at::autocast::set_autocast_enabled(at::kCPU, true);
    at::autocast::set_autocast_dtype(at::kCPU, dtype);
  }
  ~Autocast() {
    at::autocast::set_autocast_enabled(at::kCPU, false);
    at::autocast::clear_cache();
  }
};

// CAP 29 without its gradient half: mixed types are not cast a second time when the graph runs.
TEST(Modes, OpsAreNotCastTwice) {
  auto function = [](const Tensor& a, const Tensor& b) {
    auto product = at::einsum("ij,ij->ij", {a, b});
    return std::tuple(product, at::log_softmax(product.mm(b.t()), -1), a.matmul(b.t()));
  };
  auto mixed = [] { return std::tuple(torch::randn({3, 4}), torch::randn({3, 4}).to(at::kBFloat16)); };
  Autocast autocast(at::kBFloat16);
  against_eager(function, mixed);
  against_eager(function, two_matrices);
}

TEST(Modes, AutocastIsAGuardAndOffWhileTheGraphRuns) {  // CAP-30
  auto compiled = compile([](const Tensor& a, const Tensor& b) { return a.mm(b).to(at::kFloat).mm(a); });
  auto a = torch::randn({4, 4});
  auto b = torch::randn({4, 4});
  auto plain = compiled(a, b);
  EXPECT_EQ(plain.scalar_type(), at::kFloat);
  EXPECT_EQ(count(compiled.graph(), "bf16"), 0U) << compiled.graph();
  {
    Autocast autocast(at::kBFloat16);
    auto cast = compiled(a, b);
    EXPECT_EQ(cast.scalar_type(), at::kBFloat16);
    EXPECT_TRUE(at::equal(cast, a.mm(b).to(at::kFloat).mm(a)));
    EXPECT_TRUE(at::equal(cast, compiled(a, b)));
    EXPECT_TRUE(at::autocast::is_autocast_enabled(at::kCPU));
  }
  EXPECT_EQ(compiled.report().captures, 2U);
  EXPECT_TRUE(at::equal(plain, compiled(a, b)));
  EXPECT_EQ(compiled.report().captures, 2U);
}

}  // namespace
}  // namespace antegrad::test
