#include "optim/parameter_gradients.h"

#include <fmt/format.h>
#include <torch/csrc/autograd/cpp_hook.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/utils/grad_layout_contract.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "antegrad/error.h"
#include "aten/autograd_types.h"

namespace antegrad::optim {
namespace {

/// A hook that was removed leaves an empty function behind.
bool has_hooks(const at::Tensor& parameter) {
  if (torch::autograd::impl::post_acc_grad_hooks(parameter) != nullptr) return true;
  const auto accumulator = torch::autograd::impl::try_get_grad_accumulator(parameter);
  if (accumulator != nullptr && !(accumulator->pre_hooks().empty() && accumulator->post_hooks().empty()))
    return true;
  const auto& hooks = torch::autograd::impl::hooks(parameter);
  return std::any_of(hooks.begin(), hooks.end(), [](const auto& hook) {
    const auto* functions = aten::as_tensor_hooks(*hook);
    return functions == nullptr || std::any_of(functions->hooks_->begin(), functions->hooks_->end(),
                                               [](const auto& function) { return function != nullptr; });
  });
}

at::Tensor own_gradient(const at::Tensor& gradient, const at::Tensor& parameter) {
  namespace utils = torch::autograd::utils;
  if (!gradient.defined() || gradient.layout() != at::kStrided || parameter.layout() != at::kStrided)
    return gradient;
  const bool is_own = gradient.use_count() == 1 && gradient.has_storage() &&
                      gradient.storage().use_count() == 1 && gradient.storage().resizable();
  return is_own && utils::obeys_layout_contract(gradient, parameter)
             ? gradient
             : utils::clone_obey_contract(gradient, parameter);
}

}  // namespace

void refuse_hooks(const at::Tensor& parameter) {
  if (has_hooks(parameter))
    throw Error(ErrorCode::NeedsGrad, "training_step",
                fmt::format("the parameter of sizes {} has a hook, which would not be called",
                            c10::str(parameter.sizes())),
                "Remove the hook, or call the compiled loss, backward() and compiled_step");
}

std::vector<at::Tensor> own_gradients(const std::vector<at::Tensor>& gradients,
                                      const std::vector<at::Tensor>& parameters) {
  std::vector<at::Tensor> own;
  for (size_t i = 0; i < gradients.size(); ++i) own.push_back(own_gradient(gradients[i], parameters[i]));
  return own;
}

std::vector<at::Tensor> gradients_apart(const std::vector<at::Tensor>& gradients) {
  const auto storage_of = [](const at::Tensor& gradient) -> const c10::StorageImpl* {
    const bool dense = gradient.defined() && gradient.layout() == at::kStrided && gradient.has_storage();
    return dense ? gradient.storage().unsafeGetStorageImpl() : nullptr;
  };
  std::unordered_map<const c10::StorageImpl*, size_t> users;
  std::unordered_map<const at::TensorImpl*, size_t> views;  // gradients that are views, by base
  for (const auto& gradient : gradients) {
    const auto* storage = storage_of(gradient);
    if (storage == nullptr) continue;
    users[storage] += 1;
    if (!gradient.is_view()) continue;
    const at::TensorBase& base = gradient.TensorBase::_base();
    const bool is_base_of_storage = base.has_storage() && base.storage().unsafeGetStorageImpl() == storage;
    if (++views[base.unsafeGetTensorImpl()] == base.use_count() && is_base_of_storage)
      users[storage] += 1;  // nobody else knows the base
  }
  std::vector<at::Tensor> apart;
  for (const auto& gradient : gradients) {
    const auto* storage = storage_of(gradient);
    const bool is_apart = storage == nullptr || (gradient.use_count() == 1 && storage->resizable() &&
                                                 gradient.storage().use_count() == users[storage]);
    apart.push_back(is_apart ? gradient : gradient.clone());
  }
  return apart;
}

const at::Tensor* leaf_of(const at::Tensor& tensor, const std::vector<at::Tensor>& leaves) {
  std::unordered_map<const void*, const at::Tensor*> wanted;
  for (const auto& leaf : leaves) wanted[leaf.unsafeGetTensorImpl()] = &leaf;
  std::vector<torch::autograd::Node*> todo{tensor.grad_fn().get()};
  std::unordered_set<const void*> seen;
  while (!todo.empty()) {
    auto* node = todo.back();
    todo.pop_back();
    if (node == nullptr || !seen.insert(node).second) continue;
    if (const auto* accumulates = dynamic_cast<torch::autograd::AccumulateGrad*>(node))
      if (const auto found = wanted.find(accumulates->variable.unsafeGetTensorImpl()); found != wanted.end())
        return found->second;
    for (const auto& edge : node->next_edges()) todo.push_back(edge.function.get());
  }
  return nullptr;
}

}  // namespace antegrad::optim
