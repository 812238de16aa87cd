#include "compiler/function/frozen_contents.h"

#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <cstring>

namespace antegrad::compiler {
namespace {

/// Returns the .grad of a leaf, or null.
const at::Tensor* grad_of(const at::Tensor& tensor) {
  const auto* meta =
      static_cast<const torch::autograd::AutogradMeta*>(tensor.unsafeGetTensorImpl()->autograd_meta());
  return meta != nullptr && meta->grad_.defined() ? &meta->grad_ : nullptr;
}

c10::weak_intrusive_ptr<c10::TensorImpl> weak_grad_of(const at::Tensor& tensor) {
  const auto* grad = grad_of(tensor);
  return c10::weak_intrusive_ptr<c10::TensorImpl>(grad != nullptr ? grad->getIntrusivePtr()
                                                                  : at::Tensor().getIntrusivePtr());
}

int64_t version_of(const at::Tensor& tensor) { return tensor.is_inference() ? 0 : tensor._version(); }

}  // namespace

bool FrozenContents::can_watch(const at::Tensor& tensor) {
  return tensor.device().is_cpu() && tensor.layout() == at::kStrided && tensor.has_storage() &&
         !tensor._is_zerotensor() && !tensor.is_inference();
}

FrozenContents::FrozenContents(const at::Tensor& tensor)
    : storage_(tensor.storage().getWeakStorageImpl()),
      grad_(weak_grad_of(tensor)),
      tensor_(tensor.variable_data()) {
  if (tensor.numel() > 0) {
    const auto item = static_cast<int64_t>(tensor.element_size());
    const auto last = tensor.numel() - 1, gaps = static_cast<int64_t>(kSamples - 1);
    width_ = std::min(static_cast<size_t>(item), sizeof(state_.samples[0]));
    for (int64_t k = 0; k <= gaps; ++k) {
      auto element = last / gaps * k + last % gaps * k / gaps;
      auto& offset = offsets_[static_cast<size_t>(k)];
      for (auto dim = tensor.dim(); dim-- > 0; element /= tensor.size(dim))
        offset += element % tensor.size(dim) * tensor.stride(dim) * item;
    }
  }
  state_ = now(tensor);
}

bool FrozenContents::hold(const at::Tensor& tensor) const { return now(tensor) == state_; }

FrozenContents::State FrozenContents::now(const at::Tensor& tensor) const {
  const auto* grad = grad_of(tensor);
  State state{.storage = tensor.storage().unsafeGetStorageImpl(),
              .data = tensor.const_data_ptr(),
              .version = version_of(tensor),
              .grad = grad != nullptr ? grad->unsafeGetTensorImpl() : nullptr,
              .version_of_grad = grad != nullptr ? version_of(*grad) : 0};
  for (size_t k = 0; width_ > 0 && k < kSamples; ++k)
    std::memcpy(&state.samples[k], static_cast<const char*>(state.data) + offsets_[k], width_);
  return state;
}

}  // namespace antegrad::compiler
