// Arguments that are given away.
#include <antegrad/antegrad.h>
#include <torch/torch.h>

#include "error/expect_error.h"
#include "support/closeness.h"

namespace antegrad::test {
namespace {

using at::Tensor;
constexpr int64_t kMany = 1 << 18;

TEST(Donate, MemoryBecomesTheResults) {
  if (runs_libtorch_kernels()) return;
  const auto compiled = compile([](const Tensor& x, const Tensor& y) { return (x * 2 + y).sin(); });
  const auto y = torch::randn({kMany});
  auto warm_up = torch::randn({kMany});
  compiled(warm_up, y);
  auto x = torch::randn({kMany});
  const auto expected = (x * 2 + y).sin();
  const auto* memory = x.const_data_ptr();
  const auto result = compiled(donate(x), y);
  EXPECT_FALSE(x.defined());
  EXPECT_EQ(result.const_data_ptr(), memory);
  EXPECT_TRUE(result.allclose(expected, 1e-5, 1e-6));
  EXPECT_TRUE(y.defined());
  EXPECT_EQ(compiled.report().captures, 1U);
}

TEST(Donate, OthersKeepTheirs) {
  const auto compiled = compile([](const Tensor& x, const std::vector<Tensor>& ys, int64_t n) {
    return std::tuple(x + ys[0] * n, ys[1].exp());
  });
  const std::vector<Tensor> ys{torch::randn({kMany}), torch::randn({kMany})};
  const std::vector<Tensor> before{ys[0].clone(), ys[1].clone()};
  for (int i = 0; i < 3; ++i) {
    auto x = torch::randn({kMany});
    const auto expected = x + ys[0] * 3;
    const auto [sum, exponential] = compiled(donate(std::move(x)), ys, int64_t{3});
    EXPECT_TRUE(sum.allclose(expected, 1e-5, 1e-6));
    EXPECT_TRUE(exponential.allclose(before[1].exp(), 1e-5, 1e-6));
    EXPECT_TRUE(ys[0].equal(before[0]));
    EXPECT_TRUE(ys[1].equal(before[1]));
  }
}

TEST(Donate, WithAHistory) {
  const auto weight = torch::randn({50}).requires_grad_();
  const auto compiled = compile([=](const Tensor& x) { return (x * weight).sin().sum(); });
  auto x = torch::randn({50});
  const auto expected = (x * (x * weight).cos()).detach();
  auto loss = compiled(donate(x));
  loss.backward();
  EXPECT_TRUE(weight.grad().allclose(expected, 1e-4, 1e-5));
}

TEST(Donate, WrittenReturnedOrUnused) {
  const auto compiled = compile([](const Tensor& x, const Tensor& unused) { return x.add_(1); });
  auto x = torch::zeros({50}), unused = torch::zeros({50});
  EXPECT_TRUE(compiled(donate(x), donate(unused)).equal(torch::ones({50})));
  const auto same = compile([](const Tensor& x) { return x; });
  auto y = torch::ones({50});
  EXPECT_TRUE(same(donate(y)).equal(torch::ones({50})));
}

TEST(Donate, FunctionsThatRunEagerly) {
  Options options;
  options.unsupported = Unsupported::Eager;
  const auto compiled =
      compile([](const Tensor& x) { return x.sum().item<double>() > 0 ? x + 1 : x - 1; }, options);
  auto x = torch::ones({5});
  EXPECT_TRUE(compiled(donate(x)).equal(torch::full({5}, 2.0)));
}

TEST(Donate, Refusals) {
  auto x = torch::ones({3});
  const auto other = x;
  expect_error(ErrorCode::InvalidArgument, "donate", "the tensor of sizes [3] has 2 owners", {},
               [&] { donate(x); });
  EXPECT_TRUE(x.defined());
  auto base = torch::ones({4});
  auto view = base.view({2, 2});
  expect_error(ErrorCode::InvalidArgument, "donate", "the tensor of sizes [4] has 2 owners", {},
               [&] { donate(base); });
  expect_error(ErrorCode::InvalidArgument, "donate",
               "the tensor of sizes [2, 2] shares its memory with another tensor", {}, [&] { donate(view); });
  float numbers[3] = {1, 2, 3};
  auto foreign = torch::from_blob(numbers, {3});
  expect_error(ErrorCode::InvalidArgument, "donate",
               "the memory of the tensor of sizes [3] is not LibTorch's", {}, [&] { donate(foreign); });
  auto gone = torch::ones({3});
  const auto compiled = compile([](const Tensor& t) { return t * 2; });
  compiled(donate(gone));
  expect_error(ErrorCode::InvalidArgument, "donate",
               "the tensor is undefined: it was given away before, or never made", {}, [&] { donate(gone); });
}

TEST(Donate, LazyCopies) {
  const auto original = torch::zeros({kMany});
  auto lazy = original._lazy_clone();
  const auto compiled = compile([](const Tensor& t) { return t + 1; });
  EXPECT_TRUE(compiled(donate(lazy)).equal(torch::ones({kMany})));
  EXPECT_TRUE(original.equal(torch::zeros({kMany})));
}

}  // namespace
}  // namespace antegrad::test
