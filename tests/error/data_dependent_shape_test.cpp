// Ops whose results have sizes that depend on data.
#include "error/expect_error.h"

namespace antegrad::test {
namespace {

using at::Tensor;

template <class F>
void expect_data_dependent(const std::string& op, const F& function) {
  auto x = torch::randn({3});
  auto compiled = compile([&](const Tensor& a) {
    a.add_(1);
    return function(a);
  });
  expect_error(ErrorCode::DataDependentShape, "capture:aten." + op,
               "the size of its result depends on the data", {x}, [&] { compiled(x); });
}

// OPS-07
TEST(DataDependentShape, Nonzero) {
  expect_data_dependent("nonzero", [](const Tensor& a) { return a.nonzero(); });
  expect_data_dependent("nonzero", [](const Tensor& a) { return at::argwhere(a > 0); });
  expect_data_dependent("nonzero", [](const Tensor& a) { return at::where(a > 0)[0]; });
}

TEST(DataDependentShape, Masks) {
  expect_data_dependent("masked_select", [](const Tensor& a) { return a.masked_select(a > 0); });
  expect_data_dependent("index.Tensor", [](const Tensor& a) { return a.index({a > 0}); });
}

TEST(DataDependentShape, Unique) {
  expect_data_dependent("_unique2", [](const Tensor& a) { return std::get<0>(at::_unique2(a)); });
  expect_data_dependent("unique_dim", [](const Tensor& a) { return std::get<0>(at::unique_dim(a, 0)); });
  expect_data_dependent("unique_consecutive",
                        [](const Tensor& a) { return std::get<0>(at::unique_consecutive(a)); });
}

TEST(DataDependentShape, Counts) {
  expect_data_dependent("repeat_interleave.Tensor",
                        [](const Tensor& a) { return at::repeat_interleave(a.to(at::kLong).abs()); });
  expect_data_dependent("bincount", [](const Tensor& a) { return at::bincount(a.to(at::kLong).abs()); });
}

TEST(DataDependentShape, SparseResults) {
  expect_data_dependent("_to_sparse", [](const Tensor& a) { return a.to_sparse(); });
  expect_data_dependent("_to_sparse_csr", [](const Tensor& a) { return a.view({1, 3}).to_sparse_csr(); });
}

TEST(DataDependentShape, FixedSizesAreNotRefused) {
  auto x = torch::randn({3});
  auto compiled = compile([](const Tensor& a) {
    auto b = a.clone();
    b.index_put_({a > 0}, torch::tensor(0.0F));  // writing through a mask has no data-dependent size
    return at::where(a > 0, a, b) + at::repeat_interleave(a, 1);
  });
  auto expected = at::where(x > 0, x, x.clone().masked_fill_(x > 0, 0)) + x;
  EXPECT_TRUE(at::equal(compiled(x), expected));
}

}  // namespace
}  // namespace antegrad::test
