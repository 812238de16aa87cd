#include "antegrad/grad.h"

#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>

#include "antegrad/error.h"

namespace antegrad::detail {

Variables::Variables(const Leaves& leaves) : inside_another_(c10::GradMode::is_enabled()), grad_mode_(true) {
  for (const auto& tensor : leaves.tensors) {
    passed_.push_back(tensor);
    tensors_.push_back(tensor);
    if (!tensor.defined() || !(tensor.is_floating_point() || tensor.is_complex())) continue;
    // A view has its own place in autograd's graph even when the same tensor is passed twice.
    tensors_.back() = inside_another_ && tensor.requires_grad() ? tensor.view_as(tensor)
                                                                : tensor.detach().requires_grad_(true);
    wanted_.push_back(tensors_.back());
  }
}

std::vector<at::Tensor> Variables::gradients_of(const at::Tensor& value) const {
  if (!value.defined() || value.numel() != 1)
    throw Error(ErrorCode::InvalidArgument, "grad",
                value.defined() ? c10::str("the function returns a tensor of sizes ", value.sizes())
                                : "the function returns an undefined tensor",
                "Return a tensor with one element, such as a sum() or a mean()");
  std::vector<at::Tensor> gradients(wanted_.size());
  if (value.requires_grad() && !wanted_.empty())
    gradients = torch::autograd::grad({value}, wanted_, {}, inside_another_, inside_another_, true);
  for (size_t i = 0; i < gradients.size(); ++i)
    if (!gradients[i].defined()) gradients[i] = at::zeros_like(wanted_[i]);
  return gradients;
}

at::Tensor Variables::result(const at::Tensor& value) const {
  return inside_another_ || !value.defined() ? value : value.detach();
}

std::vector<at::Tensor> Variables::results(const Leaves& assigned) const {
  std::vector<at::Tensor> results;
  for (const auto& tensor : assigned.tensors) {
    const auto own = std::find_if(tensors_.begin(), tensors_.end(), [&](const at::Tensor& argument) {
      return tensor.defined() && argument.is_same(tensor);
    });
    results.push_back(own == tensors_.end() ? result(tensor) : passed_[own - tensors_.begin()]);
  }
  return results;
}

}  // namespace antegrad::detail
