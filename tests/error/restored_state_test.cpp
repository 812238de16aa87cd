// Exceptions that are not antegrad's own, and the state after any exception.
#include <torch/library.h>

#include "error/expect_error.h"

namespace antegrad::test {
namespace {

using at::Tensor;

/// Not derived from std::exception.
struct Stop {
  int reason;
};

Tensor picky_cpu(const Tensor& x) {
  TORCH_CHECK(x.sum().item<float>() >= 0, "picky: the sum is negative");
  return x.clone();
}
Tensor picky_meta(const Tensor& x) { return at::empty_like(x); }

TORCH_LIBRARY(antegrad_test, library) { library.def("picky(Tensor x) -> Tensor"); }
TORCH_LIBRARY_IMPL(antegrad_test, CPU, library) { library.impl("picky", picky_cpu); }
TORCH_LIBRARY_IMPL(antegrad_test, Meta, library) { library.impl("picky", picky_meta); }

Tensor picky(const Tensor& x) {
  static auto op = c10::Dispatcher::singleton()
                       .findSchemaOrThrow("antegrad_test::picky", "")
                       .typed<Tensor(const Tensor&)>();
  return op.call(x);
}

TEST(Exceptions, OfTheFunctionPassUntouched) {
  auto x = torch::randn({3});
  auto state = torch::randn({3});
  auto weight = torch::randn({3}).requires_grad_();
  weight.mutable_grad() = torch::ones({3});
  bool stop = true;
  auto compiled = compile([&](const Tensor& a) {
    at::NoGradGuard no_grad;
    state.add_(a);
    weight.mul_(2);
    a.zero_();
    auto noise = at::rand({3});
    if (stop) throw Stop{42};
    return a + state + noise;
  });
  const Surroundings surroundings({x, state, weight, weight.grad()});
  try {
    compiled(x);
    ADD_FAILURE() << "no exception";
  } catch (const Stop& exception) {
    EXPECT_EQ(exception.reason, 42);
  }
  surroundings.expect_unchanged();
  stop = false;  // usable afterwards
  compiled(x);
  EXPECT_EQ(state._version(), 1U);
  EXPECT_EQ(weight._version(), 1U);
  EXPECT_EQ(compiled.report().captures, 1U);
}

TEST(Exceptions, StandardOnesKeepTypeAndText) {
  auto x = torch::randn({3});
  auto compiled = compile([](const Tensor& a) -> Tensor {
    a.add_(1);
    throw std::out_of_range("mine");
  });
  const Surroundings surroundings({x});
  try {
    compiled(x);
    ADD_FAILURE() << "no exception";
  } catch (const std::out_of_range& exception) {
    EXPECT_STREQ(exception.what(), "mine");
  }
  surroundings.expect_unchanged();
}

/// Returns the text of LibTorch's exception without the backtrace.
template <class F>
std::string libtorch_error(const F& function) {
  try {
    function();
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
  return "no exception";
}

TEST(Exceptions, OfLibTorchAreThoseOfEager) {
  auto check = [](auto function, const Tensor& x) {
    auto compiled = compile(function);
    auto copy = x.detach().clone().requires_grad_(x.requires_grad());
    const auto expected = libtorch_error([&] { function(copy); });
    const Surroundings surroundings({x});
    EXPECT_NE(expected, "no exception");
    EXPECT_EQ(libtorch_error([&] { compiled(x); }), expected);
    surroundings.expect_unchanged();
  };
  check([](const Tensor& a) { return a.mul_(2).view({7}); }, torch::randn({3}));
  check([](const Tensor& a) { return a + torch::ones({5}); }, torch::randn({3}));
  check([](const Tensor& a) { return a.matmul(torch::ones({5, 5})); }, torch::randn({3, 3}));
  check([](const Tensor& a) { return at::cat({a, a.sum()}); }, torch::randn({3}));
  check([](const Tensor& a) { return a.mul_(2); }, torch::randn({3}).requires_grad_());
}

TEST(Exceptions, SetOnALeafIsTheUsualError) {  // ERR-02
  auto function = [](const Tensor& a, const Tensor& b) {
    a.set_(b);
    return a.detach();
  };
  auto leaf = torch::randn({3}).requires_grad_();
  auto other = torch::randn({3});
  const auto expected = libtorch_error([&] { function(leaf, other); });
  EXPECT_NE(expected.find("leaf"), std::string::npos) << expected;
  const Surroundings surroundings({leaf, other});
  EXPECT_EQ(libtorch_error([&] { compile(function)(leaf, other); }), expected);
  surroundings.expect_unchanged();
}

TEST(Exceptions, OfAnOpWhileTheGraphRuns) {  // ERR-28
  auto compiled = compile([](const Tensor& a) { return picky(a) + 1; });
  const auto negative = torch::full({3}, -1.0);
  for (int round = 0; round < 2; ++round) {
    const Surroundings surroundings({negative});
    EXPECT_EQ(libtorch_error([&] { compiled(negative); }), "picky: the sum is negative");
    surroundings.expect_unchanged();
    EXPECT_TRUE(at::equal(compiled(torch::ones({3})), torch::full({3}, 2.0)));
  }
  EXPECT_EQ(compiled.report().captures, 1U);
}

TEST(Exceptions, OfAnOpLeaveInputsUnwritten) {  // ERR-28
  // Inputs are written after the graph has run, so a graph that fails leaves them unchanged.
  auto compiled = compile([](const Tensor& a) {
    a.mul_(2);
    return picky(a);
  });
  const auto negative = torch::full({3}, -1.0);
  EXPECT_EQ(libtorch_error([&] { compiled(negative); }), "picky: the sum is negative");
  EXPECT_TRUE(at::equal(negative, torch::full({3}, -1.0)));
  EXPECT_TRUE(at::equal(compiled(torch::ones({3})), torch::full({3}, 2.0)));
}

TEST(Exceptions, FunctionIsUsableAfterEveryErrorOfCapture) {  // ERR-28
  auto x = torch::randn({3});
  bool read = true;
  auto compiled = compile([&](const Tensor& a) { return read ? a * a.sum().item<float>() : a * 2; });
  expect_error(ErrorCode::DataRead, "capture:aten._local_scalar_dense", "reads the data", {x},
               [&] { compiled(x); });
  read = false;
  EXPECT_TRUE(at::equal(compiled(x), x * 2));
}

TEST(Exceptions, InsideNestedCompiledFunctions) {  // ERR-28
  auto inner = compile([](const Tensor& a) { return a.add_(1) * a.sum().item<float>(); });
  auto outer = compile([&](const Tensor& a) { return inner(a) + 1; });
  auto x = torch::randn({3});
  expect_error(ErrorCode::DataRead, "capture:aten._local_scalar_dense", "reads the data", {x},
               [&] { outer(x); });
}

TEST(Exceptions, UnderAutocastAndInferenceMode) {  // ERR-28
  auto x = torch::randn({3, 3});
  auto weight = torch::randn({3, 3});
  auto compiled = compile([&](const Tensor& a) { return a.mm(weight) * a.sum().item<float>(); });
  at::autocast::set_autocast_enabled(at::kCPU, true);
  expect_error(ErrorCode::DataRead, "capture:aten._local_scalar_dense", "reads the data", {x, weight},
               [&] { compiled(x); });
  at::autocast::set_autocast_enabled(at::kCPU, false);
  at::autocast::clear_cache();
  c10::InferenceMode inference;
  expect_error(ErrorCode::DataRead, "capture:aten._local_scalar_dense", "reads the data", {x, weight},
               [&] { compiled(x); });
}

}  // namespace
}  // namespace antegrad::test
