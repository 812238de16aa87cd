// Fakes that outlive the capture they were made in.
#include "error/expect_error.h"

namespace antegrad::test {
namespace {

using at::Tensor;

/// Returns a fake of a finished capture that cannot be made real: the function was captured at sizes that no
/// call had, and stored there what it computed from its argument.
Tensor kept_from_a_capture() {
  Tensor kept;
  Options options;
  options.dynamic_sizes = {dynamic(0, 0)};
  auto compiled = compile(
      [&](const Tensor& a) {
        if (a.size(0) != 3) kept = a * 2;
        return a + 1;
      },
      options);
  auto x = torch::randn({3});
  EXPECT_TRUE(at::equal(compiled(x), x + 1));
  EXPECT_TRUE(at::equal(compiled(x), x + 1));
  EXPECT_TRUE(kept.defined()) << "it was not captured at other sizes";
  return kept;
}

TEST(ForeignFake, KeepingOneAtEveryCallIsRefused) {
  Tensor kept;
  auto x = torch::randn({3});
  auto compiled = compile([&](const Tensor& a) {
    kept = a * 2;
    return a + 1;
  });
  for (int call = 0; call < 2; ++call) {
    EXPECT_TRUE(at::equal(compiled(x), x + 1));
    EXPECT_TRUE(at::equal(kept, x * 2));
  }
  expect_error(ErrorCode::UnsupportedOp, "capture", "keeps some of its tensors beyond each call", {x, kept},
               [&] { compiled(x); });
}

TEST(ForeignFake, KeepingOneOfAnExportedFunctionIsRefused) {
  Tensor kept;
  auto x = torch::randn({3});
  expect_error(ErrorCode::UnsupportedOp, "capture", "keeps 1 of its tensors beyond the call", {x}, [&] {
    export_inference(
        [&](const Tensor& a) {
          kept = a * 2;
          return a + 1;
        },
        x);
  });
  EXPECT_TRUE(at::equal(kept, x * 2));
}

/// Stores a tensor that only a backward pass computes.
struct KeepsGradient : torch::autograd::Function<KeepsGradient> {
  static Tensor& kept() {
    static Tensor tensor;
    return tensor;
  }
  static Tensor forward(torch::autograd::AutogradContext*, const Tensor& a) { return a * 2; }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext*,
                                                 torch::autograd::variable_list gradients) {
    kept() = gradients[0] * 3;
    return {gradients[0] * 2};
  }
};

TEST(ForeignFake, KeptByABackwardPass) {
  auto x = torch::randn({3}).requires_grad_();
  auto function = [](const Tensor& a) { return KeepsGradient::apply(a); };
  auto compiled = compile(function);
  for (int call = 0; call < 2; ++call)
    expect_error(ErrorCode::UnsupportedOp, "capture",
                 "keeps 1 of its tensors beyond the call, in a member, a cache or a static variable; their "
                 "contents are not known, and using them is an error",
                 {x}, [&] { compiled(x); });
  EXPECT_ANY_THROW(KeepsGradient::kept().item<float>());
  Options options;
  options.unsupported = Unsupported::Eager;
  compile(function, options)(x).sum().backward();
  EXPECT_TRUE(at::equal(KeepsGradient::kept(), torch::full({3}, 3.f)));
  EXPECT_TRUE(at::equal(x.grad(), torch::full({3}, 2.f)));
  KeepsGradient::kept() = Tensor();
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
  expect_error(ErrorCode::ForeignFake, "capture", "argument 'arg1' was made during capture", {x},
               [&] { compiled(x, kept); });
}

TEST(ForeignFake, PassedToAFunctionThatIsAlreadyCaptured) {
  auto kept = kept_from_a_capture();
  auto x = torch::randn({3});
  auto compiled = compile([](const Tensor& a, const Tensor& b) { return a + b; });
  compiled(x, x);
  expect_error(ErrorCode::ForeignFake, "capture", "argument 'arg1' was made during capture", {x},
               [&] { compiled(x, kept); });
  EXPECT_TRUE(at::equal(compiled(x, x), x + x));
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
}  // namespace antegrad::test
