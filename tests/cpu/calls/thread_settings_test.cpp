// LibTorch settings that a function changes and does not restore.
#include <gtest/gtest.h>

#include "error/expect_error.h"

namespace {

using antegrad::compile;
using at::Tensor;

/// Restores grad mode, whatever a function leaves.
class Guarded : public ::testing::Test {
  c10::AutoGradMode grad_mode_{true};
};
using ThreadSettings = Guarded;

TEST_F(ThreadSettings, GradModeIsLeftAsTheFunctionLeavesIt) {
  const auto body = [](const Tensor& x) {
    const auto y = x * 2;
    c10::GradMode::set_enabled(false);
    return std::make_pair(y, y * 3);
  };
  auto compiled = compile(body);
  for (int call = 0; call < 3; ++call) {
    c10::GradMode::set_enabled(true);
    auto x = torch::ones({3}, torch::requires_grad());
    const auto [y, z] = compiled(x);
    EXPECT_FALSE(c10::GradMode::is_enabled());
    EXPECT_TRUE(y.requires_grad());
    EXPECT_FALSE(z.requires_grad());
    c10::GradMode::set_enabled(true);
    y.sum().backward();
    EXPECT_TRUE(x.grad().equal(torch::full({3}, 2.0F)));
  }
  EXPECT_EQ(compiled.report().captures, 1U);
}

TEST_F(ThreadSettings, GradModeThatIsSwitchedOn) {
  auto compiled = compile([](const Tensor& x) {
    c10::GradMode::set_enabled(true);
    return x * 2;
  });
  for (int call = 0; call < 2; ++call) {
    c10::GradMode::set_enabled(false);
    auto x = torch::ones({3}, torch::requires_grad());
    const auto y = compiled(x);
    EXPECT_TRUE(c10::GradMode::is_enabled());
    ASSERT_TRUE(y.requires_grad());
    y.sum().backward();
    EXPECT_TRUE(x.grad().equal(torch::full({3}, 2.0F)));
  }
}

TEST_F(ThreadSettings, SecondDerivativesOfSuchAFunction) {
  auto compiled = compile([](const Tensor& x) {
    const auto y = x.pow(3).sum();
    c10::GradMode::set_enabled(false);
    return y;
  });
  auto x = torch::ones({3}, torch::requires_grad());
  const auto y = compiled(x);
  c10::GradMode::set_enabled(true);
  const auto first = torch::autograd::grad({y}, {x}, {}, true, true)[0];
  EXPECT_TRUE(c10::GradMode::is_enabled());
  EXPECT_TRUE(torch::autograd::grad({first.sum()}, {x})[0].equal(torch::full({3}, 6.0F)));
}

TEST_F(ThreadSettings, AnythingElseIsRefusedAndPutBack) {
  const auto x = torch::ones({3});
  auto dtype = compile([](const Tensor& x) {
    torch::set_default_dtype(caffe2::TypeMeta::Make<double>());
    return x * torch::ones({3});
  });
  antegrad::test::expect_error(
      antegrad::ErrorCode::UnsupportedOp, "capture",
      "the function leaves a setting of LibTorch changed: the default dtype was Float and is Double", {x},
      [&] { dtype(x); });
  EXPECT_EQ(torch::get_default_dtype(), caffe2::TypeMeta::Make<float>());
  auto autocast = compile([](const Tensor& x) {
    at::autocast::set_autocast_enabled(at::kCPU, true);
    return x.mm(x);
  });
  const auto square = torch::ones({3, 3});
  antegrad::test::expect_error(
      antegrad::ErrorCode::UnsupportedOp, "capture",
      "the function leaves a setting of LibTorch changed: autocast was false and is true", {square},
      [&] { autocast(square); });
}

/// Only captures run the function: later calls would not seed.
TEST_F(ThreadSettings, TheSeedIsRefusedAndPutBack) {
  const auto draw = [](const Tensor& x) {
    torch::manual_seed(1234);
    return x + torch::rand({3});
  };
  const auto x = torch::ones({3});
  for (const int seed : {7, 1234}) {
    torch::manual_seed(seed);
    torch::randn({1});
    antegrad::test::expect_error(antegrad::ErrorCode::UnsupportedOp, "capture:manual_seed",
                                 "the function seeds LibTorch's generator, with 1234", {x},
                                 [&] { compile(draw)(x); });
  }
  antegrad::Options options;
  options.unsupported = antegrad::Unsupported::Eager;
  auto eager = compile(draw, options);
  const auto first = eager(x);
  torch::manual_seed(8);
  EXPECT_TRUE(first.equal(eager(x)));
  EXPECT_TRUE(first.equal(draw(x)));
}

TEST_F(ThreadSettings, WithEagerFallbackTheSettingIsLeftToo) {
  antegrad::Options options;
  options.unsupported = antegrad::Unsupported::Eager;
  auto compiled = compile(
      [](const Tensor& x) {
        torch::set_default_dtype(caffe2::TypeMeta::Make<double>());
        return x * torch::ones({3});
      },
      options);
  EXPECT_EQ(compiled(torch::ones({3})).scalar_type(), at::kDouble);
  EXPECT_EQ(torch::get_default_dtype(), caffe2::TypeMeta::Make<double>());
  torch::set_default_dtype(caffe2::TypeMeta::Make<float>());
}

}  // namespace
