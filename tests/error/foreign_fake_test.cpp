// Tensors that outlive the capture they were made in.
#include "error/expect_error.h"

namespace antegrad::testing {
namespace {

using at::Tensor;

/// A tensor of a finished capture, as a function leaves it in an outer variable.
Tensor kept_from_a_capture() {
  Tensor kept;
  auto compiled = compile([&](const Tensor& a) {
    kept = a * 2;
    return a + 1;
  });
  try {
    compiled(torch::randn({3}));
    ADD_FAILURE() << "keeping a tensor was not noticed";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::UnsupportedOp) << error.what();
  }
  return kept;
}

TEST(ForeignFake, KeepingOneIsRefused) {
  Tensor kept;
  auto x = torch::randn({3});
  auto compiled = compile([&](const Tensor& a) {
    kept = a * 2;
    return a + 1;
  });
  expect_error(ErrorCode::UnsupportedOp, "capture", "keeps 1 of its tensors beyond the call", {x},
               [&] { compiled(x); });
}

TEST(ForeignFake, UsedInAnotherCapture) {
  auto kept = kept_from_a_capture();
  auto x = torch::randn({3});
  auto compiled = compile([&](const Tensor& a) {
    a.add_(1);
    return a + kept;
  });
  expect_error(ErrorCode::ForeignFake, "capture", "is used in capture", {x}, [&] { compiled(x); });
}

TEST(ForeignFake, ReturnedFromAnotherCapture) {
  auto kept = kept_from_a_capture();
  auto x = torch::randn({3});
  auto compiled = compile([&](const Tensor& a) { return std::pair(a + 1, kept); });
  expect_error(ErrorCode::ForeignFake, "capture", "is used in capture", {x}, [&] { compiled(x); });
}

TEST(ForeignFake, PassedAsAnArgument) {
  auto kept = kept_from_a_capture();
  auto x = torch::randn({3});
  auto compiled = compile([](const Tensor& a, const Tensor& b) { return a + b; });
  expect_error(ErrorCode::ForeignFake, "capture", "argument 'arg1' belongs to capture", {x},
               [&] { compiled(x, kept); });
}

TEST(ForeignFake, PassedToAFunctionThatIsAlreadyCaptured) {
  auto kept = kept_from_a_capture();
  auto x = torch::randn({3});
  auto compiled = compile([](const Tensor& a, const Tensor& b) { return a + b; });
  compiled(x, x);
  expect_error(ErrorCode::ForeignFake, "capture", "argument 'arg1' belongs to capture", {x},
               [&] { compiled(x, kept); });
  EXPECT_TRUE(at::equal(compiled(x, x), x + x));
}

TEST(ForeignFake, KeptFromAnEarlierCaptureOfTheSameFunction) {
  Tensor last;
  auto compiled = compile([&](const Tensor& a) {
    auto sum = last.defined() ? a + last : a + 0;
    last = sum;
    return sum;
  });
  EXPECT_THROW(compiled(torch::randn({3})), Error);
  auto x = torch::randn({4});
  expect_error(ErrorCode::ForeignFake, "capture", "is used in capture", {x}, [&] { compiled(x); });
}

TEST(ForeignFake, EagerIsNoWayOut) {
  auto kept = kept_from_a_capture();
  Options options;
  options.unsupported = Unsupported::Eager;
  auto x = torch::randn({3});
  auto compiled = compile([&](const Tensor& a) { return a + kept; }, options);
  expect_error(ErrorCode::ForeignFake, "capture", "is used in capture", {x}, [&] { compiled(x); });
}

}  // namespace
}  // namespace antegrad::testing
