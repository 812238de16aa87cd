// Tensors that graphs have no type for.
#include <torch/csrc/autograd/forward_grad.h>

#include "error/expect_error.h"

namespace antegrad::test {
namespace {

using at::Tensor;

Tensor sparse() { return torch::eye(3).to_sparse(); }
Tensor quantized() { return at::quantize_per_tensor(torch::rand({3}), 0.1, 0, at::kQInt8); }

template <class F>
void expect_unsupported_argument(const std::string& fact, const Tensor& argument, const F& function) {
  auto x = torch::randn({3});
  auto compiled = compile(function);
  expect_error(ErrorCode::UnsupportedTensor, "capture", fact, {x}, [&] { compiled(x, argument); });
  EXPECT_TRUE(at::equal(compiled(x, x), function(x, x)));
}

TEST(UnsupportedTensor, Arguments) {
  auto add = [](const Tensor& a, const Tensor& b) { return a + b; };
  expect_unsupported_argument("sparse", sparse(), add);
  expect_unsupported_argument("sparse", torch::eye(3).to_sparse_csr(), add);
  expect_unsupported_argument("quantized", quantized(), add);
  expect_unsupported_argument("on a device other than cpu and cuda", torch::empty({3}, at::kMeta), add);
  expect_unsupported_argument("a tensor of dtype Float is", torch::randn({3}).to_mkldnn(), add);
}

TEST(UnsupportedTensor, CapturedTensors) {
  auto weight = sparse();
  auto x = torch::randn({3, 3});
  auto compiled = compile([&](const Tensor& a) {
    a.mul_(2);
    return at::mm(weight, a);
  });
  expect_error(ErrorCode::UnsupportedTensor, "capture", "sparse", {x}, [&] { compiled(x); });
  auto bytes = quantized();
  auto second = compile([&](const Tensor& a) { return a + bytes.dequantize(); });
  expect_error(ErrorCode::UnsupportedTensor, "capture", "quantized", {x}, [&] { second(x); });
}

template <class F>
void expect_unsupported_result(const F& function) {
  auto x = torch::rand({3, 3});
  auto compiled = compile([&](const Tensor& a) {
    a.mul_(2);
    return function(a);
  });
  const Surroundings surroundings({x});
  try {
    compiled(x);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::UnsupportedTensor) << error.what();
    EXPECT_TRUE(has_the_form(error.what())) << error.what();
    EXPECT_EQ(std::string(error.what()).rfind("[capture", 0), 0U) << error.what();
  } catch (const c10::Error& error) {
    ADD_FAILURE() << "an error of LibTorch's own: " << error.what_without_backtrace();
  }
  surroundings.expect_unchanged();
}

TEST(UnsupportedTensor, Results) {
  expect_unsupported_result([](const Tensor&) { return torch::sparse_coo_tensor({3, 3}, at::kFloat); });
  expect_unsupported_result([](const Tensor& a) { return at::quantize_per_tensor(a, 0.1, 0, at::kQInt8); });
  expect_unsupported_result(
      [](const Tensor& a) { return at::quantize_per_tensor(a, 0.1, 0, at::kQInt8).dequantize(); });
  expect_unsupported_result([](const Tensor& a) { return a.to_mkldnn(); });
}

TEST(UnsupportedTensor, WrittenInputsOfTwoDtypesOnOneMemory) {  // ERR-03
  auto compiled = compile([](const Tensor& a, const Tensor& b) {
    a.add_(1);
    return b + 1;
  });
  auto x = torch::randn({4});
  auto bits = x.view(at::kInt);
  expect_error(ErrorCode::UnsupportedTensor, "functionalize",
               "inputs 'arg0' (f32) and 'arg1' (i32) share memory", {x}, [&] { compiled(x, bits); });
}

TEST(UnsupportedTensor, TwoDtypesMeetInBytesNotInElements) {  // ERR-03
  auto function = [](const Tensor& a, const Tensor& b) {
    a.add_(1);
    return b + 1;
  };
  auto base = torch::randn({8});
  auto floats = base.slice(0, 4, 8);                     // bytes 16 to 32
  auto doubles = base.view(at::kDouble).slice(0, 2, 4);  // the same bytes, other element indices
  expect_error(ErrorCode::UnsupportedTensor, "functionalize", "share memory", {base},
               [&] { compile(function)(floats, doubles); });
  auto compiled = compile(function);
  compiled(torch::randn({4}), torch::randn({2}, at::kDouble));  // captured with inputs that do not overlap
  expect_error(ErrorCode::UnsupportedTensor, "functionalize", "share memory", {base},
               [&] { compiled(floats, doubles); });
  // Doubles 0 and 1 end where float 4 begins: element indices overlap, bytes do not.
  auto first = base.view(at::kDouble).slice(0, 0, 2);
  EXPECT_TRUE(at::equal(compile(function)(floats, first), first + 1));
}

/// Enables forward-mode differentiation while it lives.
class ForwardMode {
 public:
  ~ForwardMode() { torch::autograd::ForwardADLevel::release_idx(level_); }
  Tensor dual(const Tensor& x) const {
    return at::_make_dual(x, torch::ones_like(x), static_cast<int64_t>(level_));
  }
  Tensor tangent(const Tensor& y) const {
    return std::get<1>(at::_unpack_dual(y, static_cast<int64_t>(level_)));
  }

 private:
  uint64_t level_ = torch::autograd::ForwardADLevel::get_next_idx();
};

TEST(UnsupportedTensor, WithAForwardGradient) {
  const auto square = [](const Tensor& x) { return x * x; };
  const auto fact = "a tensor of dtype Float has a forward gradient, which results would lose";
  auto compiled = compile(square);
  const auto x = torch::randn({3});
  auto kept = torch::randn({3});
  auto with_kept = compile([&](const Tensor& x) { return x * kept; });
  EXPECT_TRUE(at::equal(compiled(x), x * x));
  EXPECT_TRUE(at::equal(with_kept(x), x * kept));
  {
    const ForwardMode mode;
    const auto dual = mode.dual(x);
    expect_error(ErrorCode::UnsupportedTensor, "capture", fact, {}, [&] { compiled(dual); });
    expect_error(ErrorCode::UnsupportedTensor, "capture", fact, {}, [&] { compile(square)(dual); });
    kept._set_fw_grad(torch::ones({3}), 0, false);
    expect_error(ErrorCode::UnsupportedTensor, "capture", fact, {}, [&] { with_kept(x); });
    Options options;
    options.unsupported = Unsupported::Eager;
    auto eager = compile(square, options);
    EXPECT_TRUE(at::equal(eager(x), x * x));
    EXPECT_TRUE(at::equal(mode.tangent(eager(dual)), 2 * x));
    EXPECT_EQ(eager.report().eager_calls, 1U);
  }
  EXPECT_TRUE(at::equal(compiled(x), x * x));
  EXPECT_TRUE(at::equal(with_kept(x), x * kept));
  EXPECT_EQ(compiled.report().captures, 1U);
  EXPECT_EQ(with_kept.report().captures, 1U);
}

TEST(UnsupportedTensor, WithNamedDims) {
  const auto twice = [](const Tensor& x) { return x + x; };
  const auto fact = "a tensor of dtype Float has named dims, which results would lose";
  const auto dim = [](const char* name) { return at::Dimname::fromSymbol(at::Symbol::dimname(name)); };
  auto compiled = compile(twice);
  const auto x = torch::randn({2, 3}), named = x.refine_names({dim("N"), dim("C")});
  EXPECT_TRUE(at::equal(compiled(x), x + x));
  expect_error(ErrorCode::UnsupportedTensor, "capture", fact, {}, [&] { compiled(named); });
  expect_error(ErrorCode::UnsupportedTensor, "capture", fact, {}, [&] { compile(twice)(named); });
  expect_error(ErrorCode::UnsupportedTensor, "capture", fact, {},
               [&] { compile([&](const Tensor& x) { return x + named; })(x); });
  expect_error(ErrorCode::UnsupportedTensor, "capture", fact, {}, [&] {
    compile([&](const Tensor& x) { return (x * 2).refine_names({dim("N"), dim("C")}); })(x);
  });
  Options options;
  options.unsupported = Unsupported::Eager;
  auto eager = compile(twice, options);
  EXPECT_FALSE(eager(x).has_names());
  EXPECT_TRUE(eager(named).has_names());
  EXPECT_FALSE(eager(x).has_names());
  EXPECT_EQ(eager.report().eager_calls, 1U);
}

TEST(UnsupportedTensor, ViewsBeyondTheirMemoryThrowAsInEager) {
  const auto every_other = [](const Tensor& x) { return x.as_strided({10}, {2}) * 1; };
  const auto compiled = compile(every_other);
  const auto large = torch::arange(40, at::kDouble);
  const auto small = torch::arange(10, at::kDouble);
  const auto text_of = [&](const auto& function) -> std::string {
    try {
      function(small);
    } catch (const c10::Error& error) {
      return error.what_without_backtrace();
    }
    return "no error";
  };
  EXPECT_EQ(text_of(compiled), text_of(every_other));
  const auto part = large.slice(0, 0, 10);
  EXPECT_TRUE(at::equal(compiled(part), every_other(part)));
  EXPECT_EQ(text_of(compiled), text_of(every_other));  // of the same sizes, on less memory
}

}  // namespace
}  // namespace antegrad::test
