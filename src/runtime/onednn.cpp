#include "runtime/onednn.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <atomic>

namespace at::native {
// Exported by LibTorch, but declared in none of the headers it installs; other versions may lack it.
[[gnu::weak]] void mkldnn_matmul(const Tensor& left, const Tensor& right, const Tensor& result, float beta,
                                 float alpha);
}  // namespace at::native

namespace antegrad::runtime::onednn {
namespace {

/// Smaller products do not win back the 12 us that a call of oneDNN takes (256 by 256 matrices are the
/// smallest that gain).
constexpr int64_t kFewestMultiplications = 12'000'000;
/// oneDNN is slow where a matrix is a vector, or nearly so.
constexpr int64_t kShortestSide = 32;

std::atomic<Use> chosen = Use::Auto;

bool has_fast_mkl() {
  __builtin_cpu_init();
  return __builtin_cpu_is("intel") != 0;
}

/// LibTorch's function requires what products of bf16 need (AVX-512, say) whatever the dtype is, and throws
/// on other processors.
bool runs_here() {
  static const bool runs = [] {
    const at::NoGradGuard no_grad;
    const auto matrix = at::zeros({2, 2}, at::kFloat);
    try {
      at::native::mkldnn_matmul(matrix, matrix, at::empty({2, 2}, at::kFloat), 0.0F, 1.0F);
    } catch (const c10::Error&) {
      return false;
    }
    return true;
  }();
  return runs;
}

bool is_in_use() {
  if (at::native::mkldnn_matmul == nullptr || !at::hasMKLDNN()) return false;
  const auto use = chosen.load();
  return (use == Use::Always || (use == Use::Auto && !has_fast_mkl())) && runs_here();
}

}  // namespace

void set_use(Use use) { chosen = use; }

bool wins(const ir::TensorType& left, const ir::TensorType& out) {
  if (out.dtype != ir::DType::F32 || !is_in_use()) return false;
  const auto rank = out.sizes.size();
  const auto rows = out.sizes[rank - 2].constant(), columns = out.sizes[rank - 1].constant(),
             depth = left.sizes[rank - 1].constant();
  return std::min({rows, columns, depth}) >= kShortestSide &&
         rows * columns * depth >= kFewestMultiplications;
}

namespace {

using Reorder = at::Tensor(const at::Tensor&, std::optional<int64_t>);
using Linear = at::Tensor(const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&,
                          std::string_view, c10::List<std::optional<at::Scalar>>,
                          std::optional<std::string_view>);

/// Ops of LibTorch's that other versions may lack.
struct PackedOps {
  std::optional<c10::TypedOperatorHandle<Reorder>> reorder;
  std::optional<c10::TypedOperatorHandle<Linear>> linear;
};

const PackedOps& packed_ops() {
  static const auto& ops = *new const PackedOps([] {
    PackedOps found;
    auto& dispatcher = c10::Dispatcher::singleton();
    const auto reorder = dispatcher.findSchema({"mkldnn::_reorder_linear_weight", ""});
    const auto linear = dispatcher.findSchema({"mkldnn::_linear_pointwise", ""});
    if (!reorder || !linear || reorder->schema().arguments().size() != 2 ||
        linear->schema().arguments().size() != 6)
      return found;
    found.reorder = reorder->typed<Reorder>();
    found.linear = linear->typed<Linear>();
    return found;
  }());
  return ops;
}

}  // namespace

bool packs() { return is_in_use() && packed_ops().linear.has_value(); }

at::Tensor pack(const at::Tensor& matrix) {
  const auto rows = matrix.t().contiguous();
  return packs() && in_use_now() ? packed_ops().reorder->call(rows, std::nullopt) : rows;
}

at::Tensor multiply_packed(const at::Tensor& left, const at::Tensor& packed, const at::Tensor& bias) {
  if (packed.is_mkldnn() && in_use_now())
    return packed_ops().linear->call(left, packed, bias.defined() ? std::optional(bias) : std::nullopt,
                                     "none", c10::List<std::optional<at::Scalar>>(), std::nullopt);
  const auto matrix = (packed.is_mkldnn() ? packed.to_dense() : packed).t();
  return bias.defined() ? at::addmm(bias, left, matrix) : at::mm(left, matrix);
}

bool in_use_now() { return at::globalContext().userEnabledMkldnn(); }

void multiply(const at::Tensor& left, const at::Tensor& right, const at::Tensor& out, bool adds) {
  at::native::mkldnn_matmul(left, right, out, adds ? 1.0F : 0.0F, 1.0F);
}

}  // namespace antegrad::runtime::onednn
