// Ops of libraries unknown to antegrad: every call runs once, in order, and never during a capture.
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/library.h>
#include <torch/torch.h>

#include "support/seeds.h"

namespace antegrad::test {
namespace {

using at::Tensor;

/// The names of the kernels below in the order in which they were called.
std::vector<std::string> calls;
std::vector<Tensor> kept;

Tensor with_call(const char* name, Tensor result) {
  calls.emplace_back(name);
  return result;
}

Tensor twice_cpu(const Tensor& x) { return with_call("twice", x * 2); }
Tensor triple_cpu(const Tensor& x) { return with_call("triple", x * 3); }
Tensor scaled_backward_cpu(const Tensor& grad, double scale) { return with_call("backward", grad * scale); }
Tensor pure_cpu(const Tensor& x) { return with_call("pure", x + 10); }
Tensor tagged_cpu(const Tensor& x) { return with_call("tagged", x + 20); }
Tensor same_cpu(const Tensor& x) { return with_call("same", x); }
Tensor view_cpu(const Tensor& x) { return with_call("view", x.slice(0, 1)); }
Tensor& bump_cpu(Tensor& x) {
  calls.emplace_back("bump_");
  return x.add_(1);
}
Tensor bump_functional_cpu(const Tensor& x) { return with_call("bump", x - 100); }
void keep_cpu(const Tensor& x) {
  calls.emplace_back("keep");
  kept.push_back(x);
}
std::tuple<Tensor, std::vector<Tensor>> parts_cpu(const Tensor& x, int64_t count) {
  calls.emplace_back("parts");
  std::vector<Tensor> parts;
  for (const auto& part : x.chunk(count)) parts.push_back(part.clone());
  return {x.sum(), parts};
}
Tensor wrong_cpu(const Tensor& x) { return x.repeat({2}); }
Tensor strided_cpu(const Tensor& x) { return x.t().contiguous().t(); }
Tensor composite(const Tensor& x) { return x.sin() + 1; }

TORCH_LIBRARY(antegrad_foreign, library) {
  library.def("twice(Tensor x) -> Tensor");
  library.def("triple(Tensor x) -> Tensor");
  library.def("scaled_backward(Tensor grad, float scale) -> Tensor");
  library.def("pure(Tensor x) -> Tensor");
  library.def("tagged(Tensor x) -> Tensor", {at::Tag::pt2_compliant_tag});
  library.def("same(Tensor x) -> Tensor");
  library.def("view(Tensor(a) x) -> Tensor(a)");
  library.def("bump_(Tensor(a!) x) -> Tensor(a!)");
  library.def("bump(Tensor x) -> Tensor");
  library.def("keep(Tensor x) -> ()");
  library.def("parts.count(Tensor x, int count=2) -> (Tensor, Tensor[])");
  library.def("wrong(Tensor x) -> Tensor");
  library.def("strided(Tensor x) -> Tensor");
  library.def("composite(Tensor x) -> Tensor", &composite);
}
TORCH_LIBRARY_IMPL(antegrad_foreign, CPU, library) {
  library.impl("twice", twice_cpu);
  library.impl("triple", triple_cpu);
  library.impl("scaled_backward", scaled_backward_cpu);
  library.impl("pure", pure_cpu);
  library.impl("tagged", tagged_cpu);
  library.impl("same", same_cpu);
  library.impl("view", view_cpu);
  library.impl("bump_", bump_cpu);
  library.impl("bump", bump_functional_cpu);
  library.impl("keep", keep_cpu);
  library.impl("parts.count", parts_cpu);
  library.impl("wrong", wrong_cpu);
  library.impl("strided", strided_cpu);
}
TORCH_LIBRARY_IMPL(antegrad_foreign, Meta, library) {
  library.impl("triple", [](const Tensor& x) { return at::empty_like(x); });
  library.impl("tagged", [](const Tensor& x) { return at::empty_like(x); });
  library.impl("view", [](const Tensor& x) { return x.slice(0, 1); });
}

std::vector<c10::IValue> like_first(const std::vector<c10::IValue>& arguments) {
  return {at::empty_like(arguments[0].toTensor())};
}

/// Registered before main(), as libraries do.
const bool kRegistered = [] {
  register_shape("antegrad_foreign::twice", like_first);
  register_shape("antegrad_foreign::scaled_backward", like_first);
  register_shape("antegrad_foreign::pure", like_first, OpEffects::None);
  register_shape("antegrad_foreign::same", like_first);
  register_shape("antegrad_foreign::wrong", like_first);
  register_shape("antegrad_foreign::strided", like_first);
  register_shape("antegrad_foreign::parts.count", [](const std::vector<c10::IValue>& arguments) {
    const auto x = arguments[0].toTensor();
    // Shape functions may return tensors of any device.
    return std::vector<c10::IValue>{torch::empty({}, x.scalar_type()), x.chunk(arguments[1].toInt())};
  });
  return true;
}();

template <class Result = Tensor, class... Args>
Result call(const char* name, Args... args) {
  const std::string full = std::string("antegrad_foreign::") + name;
  const auto dot = full.find('.');
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(
      full.substr(0, dot).c_str(), dot == std::string::npos ? "" : full.substr(dot + 1).c_str());
  return op.template typed<Result(Args...)>().call(args...);
}
Tensor twice(const Tensor& x) { return call<Tensor, const Tensor&>("twice", x); }
Tensor triple(const Tensor& x) { return call<Tensor, const Tensor&>("triple", x); }

class ForeignOps : public ::testing::Test {
 protected:
  void SetUp() override {
    test::manual_seed(7);
    calls.clear();
    kept.clear();
  }
  /// Checks that each call of the compiled function, the first included, calls the same ops as eager.
  template <class F>
  void expect_same_calls(const F& function, const Tensor& x, Options options = {}) {
    const auto expected = function(x.clone());
    const auto expected_calls = std::exchange(calls, {});
    auto compiled = compile(function, std::move(options));
    for (int round = 0; round < 3; ++round) {
      EXPECT_TRUE(at::allclose(compiled(x.clone()), expected, 1e-4, 1e-5)) << "round " << round;
      EXPECT_EQ(std::exchange(calls, {}), expected_calls) << "round " << round << "\n" << compiled.graph();
    }
    EXPECT_EQ(compiled.report().captures, 1U);
    EXPECT_TRUE(compiled.report().shape_fallbacks.empty());
  }
};

TEST_F(ForeignOps, DoNotRunDuringACapture) {
  auto compiled = compile([](const Tensor& x) {
    const auto first = twice(x.sin());
    return first + triple(x);
  });
  const auto x = torch::randn({5});
  compiled.explain(x);
  EXPECT_TRUE(calls.empty());
  compiled(x);
  EXPECT_EQ(calls, (std::vector<std::string>{"twice", "triple"}));
}

TEST_F(ForeignOps, EveryCallRunsOnceAndInOrder) {  // RNG-09
  expect_same_calls(
      [](const Tensor& x) {
        const auto first = twice(x);
        const auto equal = twice(x);
        triple(x);  // its result is unused
        call<void, const Tensor&>("keep", x.exp());
        const auto second = triple(first + equal);
        return second.tanh() + twice(x * 0);
      },
      torch::randn({7}));
}

TEST_F(ForeignOps, WithAllBackends) {
  for (const auto backend : {Backend::Default, Backend::NoFuse, Backend::Eager}) {
    Options options;
    options.backend = backend;
    expect_same_calls([](const Tensor& x) { return triple(twice(x.cos()).sum(0)) + twice(x.cos()).sum(0); },
                      torch::randn({4, 3}), options);
  }
}

TEST_F(ForeignOps, ThoseWithoutEffectsMayBeMergedAndLeftOut) {
  for (const char* name : {"pure", "tagged"}) {
    auto compiled = compile([name](const Tensor& x) {
      call<Tensor, const Tensor&>(name, x * 2);
      return call<Tensor, const Tensor&>(name, x) + call<Tensor, const Tensor&>(name, x);
    });
    const auto x = torch::randn({3});
    compiled(x);
    EXPECT_EQ(std::exchange(calls, {}), (std::vector<std::string>{name}));
  }
}

TEST_F(ForeignOps, ListsOfResults) {
  expect_same_calls(
      [](const Tensor& x) {
        const auto [sum, parts] =
            call<std::tuple<Tensor, std::vector<Tensor>>, const Tensor&, int64_t>("parts.count", x, 3);
        return sum + parts[0] * parts[2].cos();
      },
      torch::randn({6, 2}));
}

TEST_F(ForeignOps, SeeTheirArgumentsAsTheyAreAtTheCall) {  // RNG-10
  const auto function = [](Tensor x) {
    const auto before = twice(x);
    x.mul_(3);
    return before + triple(x);
  };
  expect_same_calls(function, torch::randn({3}));
  auto x = torch::ones({3});
  EXPECT_TRUE(at::equal(compile(function)(x), torch::full({3}, 2.0 + 9.0)));
  EXPECT_TRUE(at::equal(x, torch::full({3}, 3.0)));
}

TEST_F(ForeignOps, WritesAreMadeByTheOpItself) {
  // bump_ is not bump with its result copied back, in spite of their names.
  expect_same_calls(
      [](Tensor x) {
        auto y = x * 2;
        call<Tensor&, Tensor&>("bump_", y);
        call<Tensor&, Tensor&>("bump_", x);
        return x + y;
      },
      torch::randn({3}));
  auto compiled = compile([](Tensor x) { return call<Tensor&, Tensor&>("bump_", x) + 1; });
  auto x = torch::zeros({3});
  EXPECT_TRUE(at::equal(compiled(x), torch::full({3}, 2.0)));
  EXPECT_TRUE(at::equal(x, torch::ones({3})));
}

TEST_F(ForeignOps, ViewsOfArguments) {
  expect_same_calls(
      [](Tensor x) {
        auto y = x * 2;
        auto part = call<Tensor, const Tensor&>("view", y);
        part.add_(1);
        y.mul_(3);
        return y.sum() + part * 2;
      },
      torch::randn({4, 3}));
}

TEST_F(ForeignOps, ResultsThatAreArgumentsAfterAll) {
  expect_same_calls([](const Tensor& x) { return call<Tensor, const Tensor&>("same", x.sin()) + 1; },
                    torch::randn({3}));
  auto compiled = compile([](const Tensor& x) { return call<Tensor, const Tensor&>("same", x); });
  const auto x = torch::randn({3});
  const auto result = compiled(x);
  EXPECT_FALSE(result.is_same(x));
  EXPECT_FALSE(result.storage().is_alias_of(x.storage()));
  EXPECT_TRUE(at::equal(result, x));
}

TEST_F(ForeignOps, MayKeepTheirArguments) {
  auto compiled = compile([](const Tensor& x) {
    auto y = x;
    for (int i = 0; i < 4; ++i) {
      y = (y.sin() + i).contiguous();
      call<void, const Tensor&>("keep", y);
      y = y.mm(x);
    }
    return y;
  });
  const auto x = torch::randn({8, 8});
  compiled(x);
  ASSERT_EQ(kept.size(), 4U);
  auto y = x;
  for (int i = 0; i < 4; ++i) {
    y = y.sin() + i;
    EXPECT_TRUE(at::allclose(kept[static_cast<size_t>(i)], y, 1e-4, 1e-4)) << i;
    y = y.mm(x);
  }
}

TEST_F(ForeignOps, ResultsOfOtherStridesThanWereSaid) {
  auto compiled = compile([](const Tensor& x) {
    const auto y = call<Tensor, const Tensor&>("strided", x);
    return y.view({-1}) + 1;
  });
  const auto x = torch::randn({3, 4});
  EXPECT_TRUE(at::equal(compiled(x), x.view({-1}) + 1));
}

TEST_F(ForeignOps, ResultsOfOtherSizesThanWereSaid) {
  auto compiled = compile([](const Tensor& x) { return call<Tensor, const Tensor&>("wrong", x) + 1; });
  try {
    compiled(torch::randn({3}));
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    EXPECT_STREQ(
        error.what(),
        "[run:antegrad_foreign.wrong] result 0 is Float[6] where Float[3] was captured. Correct the op's "
        "Meta kernel, or the function given to register_shape.");
  }
}

TEST_F(ForeignOps, CompositeOnesAreCodeOfTheFunction) {
  auto compiled = compile([](const Tensor& x) { return call<Tensor, const Tensor&>("composite", x); });
  const auto x = torch::randn({3});
  EXPECT_TRUE(at::allclose(compiled(x), x.sin() + 1, 1e-4, 1e-5));
  EXPECT_EQ(compiled.graph().find("antegrad_foreign"), std::string::npos);
}

/// y = 2 x; value and gradient are computed by the library.
struct Scaled : torch::autograd::Function<Scaled> {
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& x) {
    context->save_for_backward({x});
    return twice(x);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext*,
                                                 torch::autograd::variable_list gradients) {
    return {call<Tensor, const Tensor&, double>("scaled_backward", gradients[0], 2.0)};
  }
};

TEST_F(ForeignOps, AreNotComputedAgainInTheBackwardPass) {  // RNG-12
  std::vector<Policy> policies = {MinCut{}, SaveAll{}, RecomputeAll{}};
  for (const auto& policy : policies) {
    Options options;
    options.policy = policy;
    auto function = [](const Tensor& x, const Tensor& y) {
      return (Scaled::apply(x.sin()).exp() * Scaled::apply(y).cos()).sum();
    };
    auto x = torch::randn({4}).requires_grad_();
    auto y = torch::randn({4}).requires_grad_();
    const auto expected = torch::autograd::grad({function(x, y)}, {x, y});
    const auto expected_calls = std::exchange(calls, {});
    auto compiled = compile(function, options);
    for (int round = 0; round < 2; ++round) {
      const auto loss = compiled(x, y);
      EXPECT_EQ(calls, (std::vector<std::string>{"twice", "twice"}));
      const auto actual = torch::autograd::grad({loss}, {x, y});
      EXPECT_TRUE(at::allclose(actual[0], expected[0], 1e-4, 1e-5));
      EXPECT_TRUE(at::allclose(actual[1], expected[1], 1e-4, 1e-5));
      EXPECT_EQ(std::exchange(calls, {}), expected_calls);
    }
  }
}

TEST_F(ForeignOps, OfBackwardPassesRunForWantedGradientsOnly) {
  auto function = [](const Tensor& x, const Tensor& y) {
    return std::vector<Tensor>{Scaled::apply(x) * 3, Scaled::apply(y) * 5};
  };
  auto compiled = compile(function);
  auto x = torch::randn({4}).requires_grad_();
  auto y = torch::randn({4}).requires_grad_();
  auto count = [&](const std::vector<Tensor>& results, std::vector<Tensor> of, std::vector<Tensor> inputs) {
    calls.clear();
    std::vector<Tensor> ones;
    for (const auto& result : of) ones.push_back(torch::ones_like(result));
    torch::autograd::grad(of, inputs, ones, true, false, true);
    return calls.size();
  };
  const auto eager = function(x, y);
  const auto ours = compiled(x, y);
  EXPECT_EQ(count(ours, {ours[0], ours[1]}, {x, y}), count(eager, {eager[0], eager[1]}, {x, y}));
  EXPECT_EQ(count(ours, {ours[0], ours[1]}, {x}), count(eager, {eager[0], eager[1]}, {x}));
  EXPECT_EQ(count(ours, {ours[1]}, {x, y}), count(eager, {eager[1]}, {x, y}));
}

TEST_F(ForeignOps, WithoutAGradientOfTheirOwn) {
  // Autograd has no formula for it: eager's result has no gradient, and backward() warns.
  auto compiled = compile([](const Tensor& x) { return twice(x.detach()) * x; });
  auto x = torch::randn({3}).requires_grad_();
  compiled(x).sum().backward();
  EXPECT_TRUE(at::allclose(x.grad(), x.detach() * 2));
  EXPECT_EQ(calls, (std::vector<std::string>{"twice"}));
}

TEST_F(ForeignOps, SecondDerivativesWouldCallThemAgain) {
  auto compiled = compile([](const Tensor& x) { return (Scaled::apply(x) * x).sum(); });
  auto x = torch::randn({3}).requires_grad_();
  const auto loss = compiled(x);
  try {
    torch::autograd::grad({loss}, {x}, {}, true, true);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::NeedsGrad);
    EXPECT_STREQ(error.what(),
                 "[backward:antegrad_foreign.twice] second derivatives would call this op again, and its "
                 "side effects are unknown. Call backward() without create_graph, or register its shape with "
                 "OpEffects::None.");
  }
  EXPECT_EQ(calls, (std::vector<std::string>{"twice"}));
}

TEST_F(ForeignOps, UnderBackgroundCompilationAndOtherSizes) {
  Options options;
  options.compile = Compile::Background;
  auto compiled = compile([](const Tensor& x) { return twice(x.sin()).sum(); }, options);
  for (int i = 0; i < 20; ++i) {
    compiled(torch::randn({3 + i % 4}));
    EXPECT_EQ(std::exchange(calls, {}), (std::vector<std::string>{"twice"})) << i;
  }
}

}  // namespace
}  // namespace antegrad::test
