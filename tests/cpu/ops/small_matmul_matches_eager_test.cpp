// Small matrix products that are expanded into sums compute what LibTorch's kernels do.
#include "passes/decompositions/small_matmul.h"

#include <torch/torch.h>

#include "cpu/ops/decomposed.h"
#include "support/seeds.h"

namespace antegrad::test {
namespace {

using at::Tensor;

/// Returns whether the pass expanded the product; checks that it computes the same.
bool is_written_out(const capture::TensorFunction& function, const Tensors& inputs) {
  const Captured captured(function, inputs);
  const auto checked = check(captured, passes::small_matmul);
  EXPECT_EQ(checked.wrong, "");
  return checked.changed;
}

template <class Fn>
capture::TensorFunction two(Fn fn) {
  return [fn](const Tensors& t) -> Tensors { return {fn(t[0], t[1])}; };
}

const auto kMm = two([](const Tensor& a, const Tensor& b) { return at::mm(a, b); });

class SmallMatmulEager : public ::testing::Test {
 protected:
  void SetUp() override { test::manual_seed(5); }
};

TEST_F(SmallMatmulEager, EveryLayoutOfMatrices) {
  for (auto dtype : {at::kFloat, at::kDouble})
    for (bool left_transposed : {false, true})
      for (bool right_transposed : {false, true}) {
        const auto a = at::randn({4, 6}, dtype), b = at::randn({6, 5}, dtype);
        EXPECT_TRUE(is_written_out(kMm, {left_transposed ? a.t().contiguous().t() : a,
                                         right_transposed ? b.t().contiguous().t() : b}));
      }
  EXPECT_TRUE(is_written_out(kMm, {at::randn({4, 12}).slice(1, 0, 12, 2), at::randn({6, 1}).expand({6, 5})}));
  EXPECT_TRUE(is_written_out(kMm, {at::randn({1, 1}), at::randn({1, 1})}));
}

TEST_F(SmallMatmulEager, BatchesVectorsAndSums) {
  EXPECT_TRUE(is_written_out(two([](const Tensor& a, const Tensor& b) { return at::bmm(a, b); }),
                             {at::randn({3, 4, 6}), at::randn({3, 5, 6}).transpose(1, 2)}));
  EXPECT_TRUE(is_written_out(two([](const Tensor& a, const Tensor& b) { return at::mv(a, b); }),
                             {at::randn({4, 6}), at::randn({6})}));
  EXPECT_TRUE(is_written_out(two([](const Tensor& a, const Tensor& b) { return at::dot(a, b); }),
                             {at::randn({6}), at::randn({6})}));
  for (double beta : {0.0, 1.0, 0.5}) {
    const double alpha = beta == 1 ? 1 : 1.5;
    EXPECT_TRUE(is_written_out(
        [=](const Tensors& t) -> Tensors { return {at::addmm(t[0], t[1], t[2], beta, alpha)}; },
        {at::randn({5}), at::randn({4, 6}), at::randn({6, 5})}));
    EXPECT_TRUE(is_written_out(
        [=](const Tensors& t) -> Tensors { return {at::addmv(t[0], t[1], t[2], beta, alpha)}; },
        {at::randn({4}), at::randn({4, 6}), at::randn({6})}));
    EXPECT_TRUE(is_written_out(
        [=](const Tensors& t) -> Tensors { return {at::baddbmm(t[0], t[1], t[2], beta, alpha)}; },
        {at::randn({3, 4, 5}), at::randn({3, 4, 6}), at::randn({3, 6, 5})}));
  }
}

TEST_F(SmallMatmulEager, AddsNothingOfWhatBetaZeroLeavesOut) {
  EXPECT_TRUE(is_written_out([](const Tensors& t) -> Tensors { return {at::addmm(t[0], t[1], t[2], 0, 2)}; },
                             {at::full({5}, std::nan("")), at::randn({4, 6}), at::randn({6, 5})}));
}

TEST_F(SmallMatmulEager, LeavesOthersAlone) {
  EXPECT_TRUE(is_written_out(kMm, {at::randn({32, 32}), at::randn({32, 32})}));
  EXPECT_FALSE(is_written_out(kMm, {at::randn({33, 32}), at::randn({32, 32})}));
  EXPECT_FALSE(
      is_written_out(kMm, {at::randn({4, 6}).to(at::kBFloat16), at::randn({6, 5}).to(at::kBFloat16)}));
  EXPECT_FALSE(is_written_out(kMm, {at::randint(0, 9, {4, 6}), at::randint(0, 9, {6, 5})}));
  EXPECT_FALSE(is_written_out(kMm, {at::randn({4, 0}), at::randn({0, 5})}));
}

}  // namespace
}  // namespace antegrad::test
