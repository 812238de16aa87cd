#include <ATen/ATen.h>

#include "capture/rules/shapes.h"

namespace antegrad::capture::rules {
namespace {

/// Returns the result of a pointwise loss: one number unless nothing is reduced.
Tensor reduced_loss(const Tensor& elements, int64_t reduction) {
  return keeps_elements(reduction) ? elements : empty({}, elements.scalar_type());
}

void add_pointwise_losses(RuleTable& table) {
  table.add("binary_cross_entropy", [](const Tensor& x, const Tensor& target, Skip, int64_t reduction) {
    TORCH_CHECK(x.sizes() == target.sizes(), "Using a target size (", target.sizes(),
                ") that is different to the input size (", x.sizes(), ") is deprecated");
    return reduced_loss(like(x), reduction);
  });
  table.add("binary_cross_entropy_backward", [](Skip, const Tensor& x) { return like(x); });
  table.add("huber_loss", [](const Tensor& x, const Tensor& target, int64_t reduction) {
    return reduced_loss(pointwise({x, target}, x.scalar_type()), reduction);
  });
  table.add({"huber_loss_backward", "smooth_l1_loss_backward", "mse_loss_backward"},
            [](const Tensor& grad, const Tensor& x, const Tensor& target) {
              const auto whole = pointwise({x, target, grad}, x.scalar_type());
              return whole.sizes() == x.sizes() ? contiguous_like(x) : whole;
            });
  // Without an out tensor of the right size, the kernel's TensorIterator allocates one.
  auto out = [](const Tensor& grad, const Tensor& x, const Tensor& target) {
    return pointwise({x, target, grad}, x.scalar_type());
  };
  table.add_out("huber_loss_backward.out", out);
  table.add_out("smooth_l1_loss_backward.grad_input", out);
  table.add_out("mse_loss_backward.grad_input", out);
}

void add_nll(RuleTable& table) {
  table.add("nll_loss2d_forward", [](const Tensor& x, const Tensor& target, Skip, int64_t reduction) {
    TORCH_CHECK(target.dim() == 3,
                "only batches of spatial targets supported (3D tensors) but got targets of dimension: ",
                target.dim());
    TORCH_CHECK(
        x.dim() == 4,
        "only batches of spatial inputs supported (4D tensors), but got input of dimension: ", x.dim());
    auto dtype = x.scalar_type();
    Tensor output =
        keeps_elements(reduction) ? empty({x.size(0), x.size(2), x.size(3)}, dtype) : empty({}, dtype);
    return std::tuple(output, empty({}, dtype));
  });
  table.add("nll_loss2d_backward", [](Skip, const Tensor& x) { return like(x); });
}

void add_margin(RuleTable& table) {
  table.add(
      "multi_margin_loss", [](const Tensor& x, const Tensor& target, Skip, Skip, Skip, int64_t reduction) {
        bool elements = keeps_elements(reduction) && target.dim() > 0;
        return elements ? empty({x.dim() == 2 ? x.size(0) : 1}, x.scalar_type()) : empty({}, x.scalar_type());
      });
  table.add("multi_margin_loss_backward", [](Skip, const Tensor& x) { return contiguous_like(x); });
  table.add("multilabel_margin_loss_forward", [](const Tensor& x, const Tensor& target, int64_t reduction) {
    bool elements = keeps_elements(reduction) && target.dim() > 1;
    Tensor output = elements ? empty({x.size(0)}, x.scalar_type()) : empty({}, x.scalar_type());
    return std::tuple(output, contiguous_like(target, x.scalar_type()));
  });
  table.add("multilabel_margin_loss_backward", [](Skip, const Tensor& x) { return contiguous_like(x); });
}

}  // namespace

void add_loss_rules(RuleTable& table) {
  add_pointwise_losses(table);
  add_nll(table);
  add_margin(table);
  table.add({"_ctc_loss_backward", "_ctc_loss_backward.Tensor"},
            [](Skip, const Tensor& log_probs) { return contiguous_like(log_probs); });
}

}  // namespace antegrad::capture::rules
