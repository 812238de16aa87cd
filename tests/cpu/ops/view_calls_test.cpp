// Views inside graphs, which are made without LibTorch's dispatcher as long as a tensor is as it was
// captured.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "ir/text.h"
#include "runtime/executable.h"

namespace antegrad::runtime {
namespace {

using at::Tensor;

Tensor result_of(const std::string& nodes, const Tensor& input) {
  const Executable executable(
      ir::parse("graph @views functional {\n  in %0: f32[4,6] user\n" + nodes + "}\n"));
  std::vector<Tensor> outputs;
  executable.run(c10::ArrayRef<Tensor>(input), outputs);
  return outputs.at(0);
}

constexpr const char* kTransposed = "  %1: f32[6,4]{1,6} &%0 = aten.t(%0)\n  out %1 user\n";
constexpr const char* kPart =
    "  %1: f32[6,4]{1,6} &%0 = aten.t(%0)\n"
    "  %2: f32[2,4]{1,6}+3 &%0 = aten.slice.Tensor(%1, 0, 3, 5, 1)\n"
    "  %3: f32[4]{6}+4 &%0 = aten.select.int(%2, 0, 1)\n"
    "  %4: f32[4,1]{6,1}+4 &%0 = aten.unsqueeze(%3, 1)\n"
    "  out %4 user\n";

Tensor part(const Tensor& x) { return x.t().slice(0, 3, 5).select(0, 1).unsqueeze(1); }

void expect_same(const Tensor& actual, const Tensor& expected) {
  EXPECT_TRUE(at::equal(actual, expected)) << actual << expected;
  EXPECT_EQ(actual.strides(), expected.strides());
  EXPECT_EQ(actual.storage_offset(), expected.storage_offset());
  EXPECT_TRUE(actual.is_alias_of(expected));
}

TEST(ViewCalls, ShareMemory) {
  const auto x = torch::randn({4, 6});
  expect_same(result_of(kTransposed, x), x.t());
  expect_same(result_of(kPart, x), part(x));
  const auto y = torch::randn({9, 6}).slice(0, 2, 6);  // begins in the middle of its memory
  expect_same(result_of(kPart, y), part(y));
}

TEST(ViewCalls, FollowOtherLayoutsThanWereCaptured) {
  const auto x = torch::randn({6, 4}).t();
  expect_same(result_of(kTransposed, x), x.t());
  expect_same(result_of(kPart, x), part(x));
}

TEST(ViewCalls, KeepLazyNegation) {
  const auto x = at::_neg_view(torch::randn({4, 6}));
  const auto transposed = result_of(kTransposed, x);
  EXPECT_TRUE(transposed.is_neg());
  EXPECT_TRUE(at::equal(transposed.resolve_neg(), x.resolve_neg().t()));
}

TEST(ViewCalls, HaveVersionsOfTheirOwnAndNoHistory) {
  const auto x = torch::randn({4, 6}).requires_grad_(true);
  const auto transposed = result_of(kTransposed, x);
  EXPECT_FALSE(transposed.requires_grad());
  EXPECT_FALSE(transposed.is_view());
  EXPECT_EQ(transposed._version(), 0U);
}

}  // namespace
}  // namespace antegrad::runtime
