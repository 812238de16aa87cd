#include "capture/histories.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/functions/tensor.h>
#include <torch/csrc/autograd/variable.h>

#include <unordered_set>

namespace antegrad::capture {
namespace {

namespace impl = torch::autograd::impl;
using torch::autograd::Node;

bool has_decorations(const at::Tensor& tensor) {
  const auto* meta = impl::get_autograd_meta(tensor);
  return meta != nullptr && (meta->retains_grad_ || meta->cpp_hooks_list_ != nullptr ||
                             !meta->hooks_.empty() || meta->grad_.defined());
}

/// Whether the tensor has a history of its own. That of a view whose base was written since is out of date:
/// autograd makes it anew from the base's when it is asked for.
bool has_history(const at::Tensor& tensor) {
  const auto* meta = impl::get_autograd_meta(tensor);
  if (meta == nullptr || !meta->grad_fn_) return false;
  const auto* view = impl::get_view_autograd_meta(tensor);
  return view == nullptr || !view->has_bw_view() || view->get_attr_version() == tensor._version();
}

/// Adds the node of the tensor's history without making autograd bring it up to date.
void add_history(const at::Tensor& tensor, std::vector<Node*>& nodes) {
  const auto* meta = impl::get_autograd_meta(tensor);
  if (meta != nullptr && meta->grad_fn_) nodes.push_back(meta->grad_fn_.get());
}

}  // namespace

bool has_hooks(Node& node) {
  return !node.pre_hooks().empty() || !node.post_hooks().empty() || !node.tensor_pre_hooks().empty() ||
         !node.retains_grad_hooks().empty();
}

bool is_of_op(Node& node) {
  return node.is_traceable() || dynamic_cast<torch::autograd::CopySlices*>(&node) != nullptr ||
         dynamic_cast<torch::autograd::CopyBackwards*>(&node) != nullptr;
}

bool histories_are_of_ops(Recorder& recorder, uint64_t first_sequence) {
  if (!recorder.outside().changed_by_ops_only()) return false;
  std::vector<Node*> todo;
  for (const auto& fake : recorder.fakes().all()) {
    const auto* meta = impl::get_autograd_meta(fake);
    if (has_decorations(fake) || (meta != nullptr && meta->requires_grad_)) return false;
    add_history(fake, todo);
  }
  std::unordered_set<const Node*> of_inputs;  // where histories may lead to
  for (const auto& outsider : recorder.outside().all()) {
    add_history(outsider->tensor, todo);
    if (outsider->base.defined()) add_history(outsider->base, todo);
    of_inputs.insert({outsider->grad_fn.get(), outsider->base_grad_fn.get()});
  }
  std::unordered_set<const Node*> seen;
  while (!todo.empty()) {
    auto* node = todo.back();
    todo.pop_back();
    if (!seen.insert(node).second) continue;
    if (const auto* accumulates = dynamic_cast<torch::autograd::AccumulateGrad*>(node)) {
      if (as_fake(accumulates->variable) != nullptr) return false;
      continue;
    }
    if (of_inputs.count(node) > 0) continue;
    // A custom function makes its node before it runs.
    if (node->sequence_nr() < first_sequence) return false;
    if (!is_of_op(*node) || has_hooks(*node)) return false;
    for (const auto& edge : node->next_edges())
      if (edge.is_valid()) todo.push_back(edge.function.get());
  }
  return true;
}

Histories drop_histories(Recorder& recorder) {
  Histories needs;
  const auto fakes = recorder.fakes().all();
  for (const auto& fake : fakes)
    needs[static_cast<const FakeTensor*>(fake.unsafeGetTensorImpl())] = has_history(fake);
  for (const auto& fake : fakes)
    if (auto* meta = impl::get_autograd_meta(fake)) meta->grad_fn_ = nullptr;
  return needs;
}

void take_history(const at::Tensor& fake, const at::Tensor& real, bool history, bool counter) {
  auto* own = fake.unsafeGetTensorImpl();
  if (counter && !own->is_inference() && !real.is_inference()) {
    auto shared = impl::version_counter(real);
    if (shared.current_version() != own->version_counter().current_version())
      shared.set_version(own->version_counter().current_version());
    impl::set_version_counter(fake, shared);
  }
  if (!history) return;
  const auto edge = impl::gradient_edge(real);
  auto* meta = impl::materialize_autograd_meta(fake);
  meta->grad_fn_ = edge.function;
  meta->output_nr_ = edge.input_nr;
  if (auto* view = impl::get_view_autograd_meta(fake); view != nullptr && view->has_bw_view())
    view->set_attr_version(own->version_counter().current_version());
}

}  // namespace antegrad::capture
