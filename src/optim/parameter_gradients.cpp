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

bool is_dense(const at::Tensor& gradient) { return gradient.defined() && gradient.layout() == at::kStrided; }

/// Whether nobody else refers to the memory of a tensor, except for the base of a view that nobody else
/// knows.
bool has_own_memory(const at::Tensor& tensor) {
  if (tensor.use_count() != 1 || !tensor.has_storage() || !tensor.storage().resizable()) return false;
  const at::TensorBase* base = tensor.is_view() ? &tensor.TensorBase::_base() : nullptr;
  if (base != nullptr && (base->use_count() != 1 || !base->has_storage())) return false;
  const bool same = base != nullptr && base->storage().is_alias_of(tensor.storage());
  return tensor.storage().use_count() == (same ? 2 : 1);
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
  namespace utils = torch::autograd::utils;
  std::vector<at::Tensor> own;
  for (size_t i = 0; i < gradients.size(); ++i) {
    const auto &gradient = gradients[i], &parameter = parameters[i];
    const bool stays = !is_dense(gradient) || parameter.layout() != at::kStrided ||
                       (!gradient.is_view() && has_own_memory(gradient) &&
                        utils::obeys_layout_contract(gradient, parameter));
    own.push_back(stays ? gradient : utils::clone_obey_contract(gradient, parameter));
  }
  return own;
}

std::vector<at::Tensor> gradients_apart(const std::vector<at::Tensor>& gradients) {
  std::vector<at::Tensor> apart;
  for (const auto& gradient : gradients)
    apart.push_back(!is_dense(gradient) || has_own_memory(gradient) ? gradient : gradient.clone());
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
