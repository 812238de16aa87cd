#include "capture/determinant.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/generated/Functions.h>
#include <torch/csrc/autograd/variable.h>

namespace antegrad::capture {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using torch::autograd::generated::LinalgDetBackward0;

at::Tensor as_matrix(const at::Tensor& numbers) { return numbers.unsqueeze(-1).unsqueeze(-1); }

/// The determinant of a matrix that stays unitary, so that its inverse is its adjoint in all derivatives.
struct UnitaryDeterminant : torch::autograd::Function<UnitaryDeterminant> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& matrix) {
    auto determinant = at::linalg_det(matrix);
    context->save_for_backward({matrix, determinant});
    return determinant;
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    return {as_matrix(gradients[0] * saved[1].conj()) * saved[0]};
  }
};

/// Returns, per element of the last dim, the product of all others.
at::Tensor products_of_others(const at::Tensor& numbers) {
  const auto count = numbers.size(-1);
  const auto one = at::ones_like(numbers.narrow(-1, 0, 1));
  if (count == 1) return one;
  const auto before = at::cat({one, numbers.narrow(-1, 0, count - 1)}, -1).cumprod(-1);
  const auto after = at::cat({one, numbers.narrow(-1, 1, count - 1).flip({-1})}, -1).cumprod(-1).flip({-1});
  return before * after;
}

at::Tensor of_regular(const at::Tensor& matrix, const at::Tensor& determinant, const at::Tensor& gradient) {
  const auto numbers = (gradient * determinant.conj()).unsqueeze(-1);
  return at::linalg_solve(matrix.mH(), at::diag_embed(numbers.expand_as(matrix.diagonal(0, -2, -1))));
}

at::Tensor of_singular(const at::Tensor& matrix, const at::Tensor& gradient) {
  const auto [u, s, vh] = at::linalg_svd(matrix);
  const auto sign = UnitaryDeterminant::apply(u) * UnitaryDeterminant::apply(vh);
  const auto numbers = (sign.conj() * gradient).unsqueeze(-1) * products_of_others(s);
  return (u * numbers.unsqueeze(-2)).matmul(vh);
}

double epsilon_of(at::ScalarType dtype) {
  return c10::toRealValueType(dtype) == at::kDouble ? std::numeric_limits<double>::epsilon()
                                                    : std::numeric_limits<float>::epsilon();
}

at::Tensor gradient_of(LinalgDetBackward0& node, const at::Tensor& gradient) {
  const auto matrix = node.A_.unpack();
  if (matrix.numel() == 0) return at::zeros_like(matrix);
  const auto factors = node.LU_.unpack(node.getptr());
  const auto determinant = node.result_.unpack(node.getptr());
  const auto rows = matrix.size(-1);
  const auto small = factors.detach().diagonal(0, -2, -1).abs().lt(100 * epsilon_of(matrix.scalar_type()));
  const auto singular = as_matrix(small.any(-1));
  // The formula that is not selected is computed on matrices for which all derivatives exist.
  const auto regular_one = at::eye(rows, matrix.options());
  const auto real = matrix.options().dtype(c10::toRealValueType(matrix.scalar_type()));
  const auto distinct = at::diag_embed(at::arange(1, rows + 1, real).to(matrix.scalar_type()));
  return at::where(singular, of_singular(at::where(singular, matrix, distinct), gradient),
                   of_regular(at::where(singular, regular_one, matrix), determinant, gradient));
}

/// Hides the gradient from LibTorch's formula and keeps it for GiveGradient.
struct TakeGradient final : torch::autograd::FunctionPreHook {
  explicit TakeGradient(std::shared_ptr<at::Tensor> taken) : taken_(std::move(taken)) {}
  variable_list operator()(const variable_list& gradients) override {
    if (!c10::GradMode::is_enabled()) return gradients;
    *taken_ = gradients[0];
    auto rest = gradients;
    rest[0] = at::Tensor();
    return rest;
  }
  std::shared_ptr<at::Tensor> taken_;
};

struct GiveGradient final : torch::autograd::FunctionPostHook {
  GiveGradient(LinalgDetBackward0& node, std::shared_ptr<at::Tensor> taken)
      : node_(node), taken_(std::move(taken)) {}
  variable_list operator()(const variable_list& outputs, const variable_list&) override {
    const auto gradient = std::exchange(*taken_, at::Tensor());
    if (!gradient.defined()) return outputs;
    return {gradient_of(node_, gradient)};
  }
  LinalgDetBackward0& node_;  ///< owns the hook
  std::shared_ptr<at::Tensor> taken_;
};

}  // namespace

void Determinants::note(const at::Tensor& result) { results_.emplace_back(result.getIntrusivePtr()); }

void Determinants::watch_results() {
  for (const auto& weak : std::exchange(results_, {})) {
    const at::Tensor result(weak.lock());
    const auto* meta = result.defined() ? torch::autograd::impl::get_autograd_meta(result) : nullptr;
    auto* node = meta != nullptr ? dynamic_cast<LinalgDetBackward0*>(meta->grad_fn_.get()) : nullptr;
    if (node == nullptr) continue;
    const auto taken = std::make_shared<at::Tensor>();
    node->add_pre_hook(std::make_unique<TakeGradient>(taken));
    node->add_post_hook(std::make_unique<GiveGradient>(*node, taken));
  }
}

}  // namespace antegrad::capture
