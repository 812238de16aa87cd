// Accuracy of variances, normalizations and sums of columns: eager and compiled results against f64.
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <limits>

#include "support/closeness.h"
#include "support/seeds.h"

namespace antegrad {
namespace {

using Results = std::vector<at::Tensor>;
using Moments = std::function<Results(const at::Tensor&)>;

Results layer_norm(const at::Tensor& x) {
  auto [y, mean, rstd] = at::native_layer_norm(x, {x.size(-1)}, {}, {}, 1e-5);
  return {y, rstd};
}
Results group_norm(const at::Tensor& x) {
  auto [y, mean, rstd] = at::native_group_norm(x, {}, {}, x.size(0), x.size(1), 1, 4, 1e-5);
  return {y, rstd};
}
Results batch_norm(const at::Tensor& x) {
  auto [y, mean, rstd] = at::native_batch_norm(x, {}, {}, {}, {}, true, 0.1, 1e-5);
  return {y, rstd};
}
Results variances(const at::Tensor& x) { return {x.var(-1), x.std(-1), x.var(0, false), x.std()}; }

/// Returns the largest distance from the exact result, relative to the largest result.
double error(const at::Tensor& result, const at::Tensor& exact) {
  const auto distance = result.to(at::kDouble).sub(exact).abs().max().item<double>();
  const auto size = exact.abs().max().item<double>();
  return size == 0 ? distance : distance / size;
}

/// Checks that the compiled error is at most `factor` times eager's, or a few roundings.
void check(const char* name, const Moments& f, const at::Tensor& x, double factor, const std::string& what) {
  const auto eager = f(x), compiled = compile(f)(x), exact = f(x.to(at::kDouble));
  const double roundings = x.scalar_type() == at::kFloat ? 1e-6 : test::rounding_of(x.scalar_type());
  for (size_t i = 0; i < exact.size(); ++i) {
    const auto ours = error(compiled[i], exact[i]), theirs = error(eager[i], exact[i]);
    std::printf("%s[%zu] %s: eager %.1e, compiled %.1e\n", name, i, what.c_str(), theirs, ours);
    EXPECT_LE(ours, std::max(factor * theirs, roundings)) << name << " " << i << " " << what;
  }
}

TEST(MomentsAccuracy, OfLargeMeans) {
  at::NoGradGuard no_grad;
  test::manual_seed(0);
  for (const int64_t columns : {64, 129, 768})
    for (const double mean : {0.0, 1e2, 1e4, 1e6, 1e7}) {
      const auto x = at::randn({32, columns}) + mean;
      const auto what = c10::str(columns, " columns, mean ", mean);
      check("layer_norm", layer_norm, x, 2, what);
      check("group_norm", group_norm, x.slice(1, 0, 64).contiguous(), 2, what);
      check("batch_norm", batch_norm, x, 2, what);
      check("variance", variances, x, 2, what);
    }
}

TEST(MomentsAccuracy, OfTinyAndHugeScales) {
  at::NoGradGuard no_grad;
  test::manual_seed(0);
  const auto std_of_rows = [](const at::Tensor& x) { return Results{x.std(-1), x.std(0), x.std()}; };
  for (const double scale : {1e-30, 1e-25, 1e-10, 1e10, 1e19, 1e30, 1e37})
    check("std", std_of_rows, at::randn({16, 129}) * scale, 2, c10::str("scale ", scale));
}

TEST(MomentsAccuracy, OfHalfTypes) {
  at::NoGradGuard no_grad;
  test::manual_seed(0);
  for (const auto type : {at::kHalf, at::kBFloat16})
    for (const double mean : {0.0, 1000.0}) {
      const auto x = (at::randn({16, 129}) + mean).to(type);
      check("variance", variances, x, 2, c10::str(c10::toString(type), ", mean ", mean));
      check("layer_norm", layer_norm, x, 2, c10::str(c10::toString(type), ", mean ", mean));
    }
}

TEST(SumsAccuracy, OfLongColumns) {
  at::NoGradGuard no_grad;
  test::manual_seed(0);
  const auto sums = [](const at::Tensor& x) { return Results{x.sum(0), (x * 1.5).mean(0)}; };
  const std::vector<std::pair<int64_t, int64_t>> sizes = {{1'000'000, 3}, {100'000, 40}, {8192, 512}};
  for (const auto& [rows, columns] : sizes) {
    const auto what = c10::str(rows, " rows, ", columns, " columns, ");
    check("sums", sums, at::full({rows, columns}, 0.1), 1, what + "equal numbers");
    check("sums", sums, at::rand({rows, columns}), 1, what + "uniform");
    check("sums", sums, at::randn({rows, columns}) + 3, 1, what + "normal around 3");
  }
}

/// The sum of the numbers, rounded once.
double exact_sum(const at::Tensor& x) {
  const auto numbers = x.contiguous();
  __float128 sum = 0;
  for (int64_t i = 0; i < numbers.numel(); ++i) sum += numbers.const_data_ptr<double>()[i];
  return static_cast<double>(sum);
}

TEST(SumsAccuracy, OfDoubles) {
  at::NoGradGuard no_grad;
  test::manual_seed(0);
  const auto compiled = compile([](const at::Tensor& x) { return Results{x.sum().reshape(1), x.sum(-1)}; });
  const std::vector<std::vector<int64_t>> sizes = {{1, 106'000}, {1000, 106}, {53'000, 2}, {8, 50'000}};
  for (const auto& size : sizes)
    for (const auto& x : {at::full(size, 0.1, at::kDouble), at::rand(size, at::kDouble)}) {
      const auto sums = compiled(x);
      const auto whole = exact_sum(x), row = exact_sum(x[0]);
      EXPECT_NEAR(sums[0].item<double>() / whole, 1, 4e-15) << size;
      EXPECT_NEAR(sums[1][0].item<double>() / row, 1, 4e-15) << size;
    }
}

/// Where an infinite number is not the last one, which LibTorch's means beside variances depend on.
TEST(Moments, OfInfiniteNumbersAreEagers) {
  at::NoGradGuard no_grad;
  const auto f = [](const at::Tensor& x) {
    auto running = at::zeros({x.size(0)}, x.options());
    at::batch_norm(x.t(), {}, {}, running, at::ones_like(running), true, 1.0, 1e-5, false);
    return Results{std::get<1>(at::native_layer_norm(x, {x.size(1)}, {}, {}, 1e-5)),
                   std::get<1>(at::native_group_norm(x, {}, {}, x.size(0), x.size(1), 1, 1, 1e-5)),
                   std::get<1>(at::var_mean(x, {1})), std::get<1>(at::var_mean(x.slice(1, 0, 1), {1})),
                   running};
  };
  const double infinity = std::numeric_limits<double>::infinity();
  for (const auto type : {at::kFloat, at::kDouble})
    for (const int64_t columns : {2, 40, 3000}) {
      test::manual_seed(0);
      const auto x = at::randn({4, columns}, type);
      x[1][0] = infinity;
      x[2][0] = -infinity;
      x[3][0] = std::numeric_limits<double>::quiet_NaN();
      const auto eager = f(x), compiled = compile(f)(x);
      for (size_t i = 0; i < eager.size(); ++i)
        EXPECT_TRUE(at::allclose(compiled[i], eager[i], 1e-4, 1e-5, true)) << i << "\n"
                                                                           << eager[i] << "\n"
                                                                           << compiled[i];
    }
}

TEST(MomentsAccuracy, OfEqualNumbersIsZero) {
  if (test::runs_libtorch_kernels()) GTEST_SKIP() << "LibTorch's are not all";
  at::NoGradGuard no_grad;
  const auto f = [](const at::Tensor& x) {
    return Results{x.var(-1), x.std(0), x.std(), at::layer_norm(x, {x.size(-1)}), at::group_norm(x, 1)};
  };
  for (const auto type : {at::kFloat, at::kBFloat16, at::kHalf})
    for (const double value : {3.3, 0.1, 1e4 / 3})
      for (const auto& result : compile(f)(at::full({3, 129}, value, type)))
        EXPECT_EQ(result.abs().max().item<double>(), 0) << value << " of " << c10::toString(type);
}

}  // namespace
}  // namespace antegrad
