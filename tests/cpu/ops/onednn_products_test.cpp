// Products that oneDNN computes: which ones, and that they are as accurate as LibTorch's own.
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "runtime/onednn.h"
#include "support/seeds.h"
#include "toolchain/isa.h"

namespace antegrad::test {
namespace {

using at::Tensor;
namespace onednn = runtime::onednn;

/// Sets the variable for functions that are compiled while it lives.
class Matmul {
 public:
  explicit Matmul(const char* value) { setenv("ANTEGRAD_MATMUL", value, 1); }
  ~Matmul() {
    unsetenv("ANTEGRAD_MATMUL");
    onednn::set_use(onednn::Use::Auto);
  }
};

ir::TensorType matrix(std::initializer_list<int64_t> sizes, ir::DType dtype = ir::DType::F32) {
  return ir::contiguous_tensor(dtype, {sizes.begin(), sizes.end()});
}

TEST(OneDnn, TakesLargeProductsOfFloats) {
  if (toolchain::detect_isa() < toolchain::Isa::Avx512)
    GTEST_SKIP() << "LibTorch's function refuses most processors without AVX-512";
  onednn::set_use(onednn::Use::Always);
  EXPECT_TRUE(onednn::wins(matrix({256, 256}), matrix({256, 256})));
  EXPECT_TRUE(onednn::wins(matrix({4, 256, 256}), matrix({4, 256, 256})));
  EXPECT_TRUE(onednn::wins(matrix({40000, 32}), matrix({40000, 64})));
  EXPECT_FALSE(onednn::wins(matrix({64, 64}), matrix({64, 64})));
  EXPECT_FALSE(onednn::wins(matrix({40000, 64}), matrix({40000, 1})));
  EXPECT_FALSE(onednn::wins(matrix({40000, 8}), matrix({40000, 640})));
  EXPECT_FALSE(onednn::wins(matrix({512, 512}, ir::DType::F64), matrix({512, 512}, ir::DType::F64)));
  onednn::set_use(onednn::Use::Never);
  EXPECT_FALSE(onednn::wins(matrix({512, 512}), matrix({512, 512})));
  onednn::set_use(onednn::Use::Auto);
}

/// Returns the distance from the exact numbers; both sides add in f32, in different orders.
double error_of(const Tensor& found, const Tensor& exact) {
  return (found.to(at::kDouble) - exact).abs().max().item<double>();
}

Tensor in_layout(int64_t rows, int64_t columns, int layout) {
  if (layout == 0) return torch::randn({rows, columns});
  if (layout == 1) return torch::randn({columns, rows}).t();
  if (layout == 2) return torch::randn({rows, 3 * columns}).slice(1, columns, 2 * columns);
  return torch::randn({2 * rows, 2 * columns}).slice(0, 0, 2 * rows, 2).slice(1, 0, 2 * columns, 2);
}

TEST(OneDnn, EveryLayout) {
  test::manual_seed(3);
  const Matmul matmul("onednn");
  const auto product = [](const Tensor& a, const Tensor& b) { return at::mm(a, b); };
  const auto inside = [](const Tensor& a, const Tensor& b) { return at::mm(a, b).tanh() * 2; };
  for (int left = 0; left < 4; ++left)
    for (int right = 0; right < 4; ++right) {
      SCOPED_TRACE(c10::str("layouts ", left, " and ", right));
      const auto a = in_layout(320, 256, left), b = in_layout(256, 192, right);
      const auto exact = at::mm(a.to(at::kDouble), b.to(at::kDouble));
      const auto found = compile(product)(a, b);
      EXPECT_LE(error_of(found, exact), 4 * error_of(product(a, b), exact));
      EXPECT_TRUE(found.is_contiguous());
      EXPECT_LE(error_of(compile(inside)(a, b), exact.tanh() * 2),
                4 * error_of(inside(a, b), exact.tanh() * 2));
    }
}

TEST(OneDnn, SumsAndBatches) {
  test::manual_seed(4);
  const Matmul matmul("onednn");
  const auto a = torch::randn({3, 260, 256}), b = torch::randn({3, 256, 200}),
             c = torch::randn({3, 260, 200}), row = torch::randn({200}), column = torch::randn({260, 1});
  const auto both = [&](const char* name, const auto& function) {
    SCOPED_TRACE(name);
    const auto exact = function(a.to(at::kDouble), b.to(at::kDouble), c.to(at::kDouble), row.to(at::kDouble),
                                column.to(at::kDouble));
    EXPECT_LE(error_of(compile(function)(a, b, c, row, column), exact),
              4 * error_of(function(a, b, c, row, column), exact));
  };
  using T = const Tensor&;
  both("bmm", [](T a, T b, T, T, T) { return at::bmm(a, b); });
  both("baddbmm", [](T a, T b, T c, T, T) { return at::baddbmm(c, a, b); });
  both("addmm", [](T a, T b, T c, T, T) { return at::addmm(c[0], a[0], b[0]); });
  both("addmm row", [](T a, T b, T, T row, T) { return at::addmm(row, a[0], b[0]); });
  both("addmm column", [](T a, T b, T, T, T column) { return at::addmm(column, a[0], b[0]); });
  both("beta", [](T a, T b, T, T row, T) { return at::addmm(row, a[0], b[0], 0.5, 2); });
  both("beta 0", [](T a, T b, T c, T, T) { return at::addmm(c[0] * NAN, a[0], b[0], 0, 1); });
}

TEST(OneDnn, TrainingStepsAgreeWithEager) {
  test::manual_seed(5);
  const Matmul matmul("onednn");
  const auto x = torch::randn({300, 256});
  const auto parameters = [] {
    test::manual_seed(6);
    std::vector<Tensor> made{torch::randn({320, 256}), torch::randn({320}), torch::randn({64, 320})};
    for (auto& parameter : made) parameter.mul_(0.05).requires_grad_();
    return made;
  };
  const auto loss = [](const Tensor& x, const std::vector<Tensor>& p) {
    return at::linear(at::gelu(at::linear(x, p[0], p[1])), p[2]).pow(2).mean();
  };
  const auto eager = parameters(), compiled = parameters();
  const auto function = compile(loss);
  loss(x, eager).backward();
  for (int step = 0; step < 2; ++step) {
    for (const auto& parameter : compiled) parameter.mutable_grad().reset();
    function(x, compiled).backward();
    for (size_t i = 0; i < eager.size(); ++i)
      EXPECT_TRUE(compiled[i].grad().allclose(eager[i].grad(), 1e-4, 1e-6)) << i;
  }
}

TEST(OneDnn, SwitchedOffByTheUserOrTheVariable) {
  test::manual_seed(7);
  const auto a = torch::randn({300, 300}), b = torch::randn({300, 300});
  const auto product = [](const Tensor& a, const Tensor& b) { return at::mm(a, b); };
  const auto exact = at::mm(a.to(at::kDouble), b.to(at::kDouble));
  {
    const Matmul matmul("onednn");
    const auto compiled = compile(product);
    EXPECT_LE(error_of(compiled(a, b), exact), 4 * error_of(at::mm(a, b), exact));
    at::globalContext().setUserEnabledMkldnn(false);
    EXPECT_TRUE(compiled(a, b).equal(at::mm(a, b)));
    at::globalContext().setUserEnabledMkldnn(true);
  }
  {
    const Matmul matmul("libtorch");
    EXPECT_TRUE(compile(product)(a, b).equal(at::mm(a, b)));
  }
  const Matmul matmul("mkl");
  EXPECT_THROW(compile(product), Error);
}

}  // namespace
}  // namespace antegrad::test
