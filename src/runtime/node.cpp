#include "runtime/node.h"

#include <fmt/format.h>
#include <torch/csrc/autograd/variable.h>

#include "antegrad/error.h"
#include "capture/convert.h"
#include "capture/guards.h"
#include "runtime/rng_state.h"

namespace antegrad::runtime {

using torch::autograd::SavedVariable;
using torch::autograd::variable_list;
namespace impl = torch::autograd::impl;

CompiledBackward::CompiledBackward(std::shared_ptr<const Backward> backward, c10::ArrayRef<at::Tensor> inputs)
    : backward_(std::move(backward)) {
  torch::autograd::edge_list edges;
  for (auto i : backward_->gradients()) {
    const auto& input = inputs[static_cast<size_t>(i)];
    edges.push_back(input.requires_grad() ? impl::gradient_edge(input) : torch::autograd::Edge());
  }
  set_next_edges(std::move(edges));
  for (const auto& type : backward_->tangent_types()) {
    c10::SmallVector<c10::SymInt, 5> sizes;
    for (const auto& size : type.sizes) sizes.emplace_back(size.constant());
    add_input_metadata(
        at::TensorOptions().dtype(capture::to_torch(type.dtype)).device(capture::to_torch(type.device)),
        sizes, false, false, capture::to_torch(type.dtype));
  }
}

void CompiledBackward::attach(const at::Tensor& tensor, int32_t tangent) {
  impl::set_gradient_edge(tensor, {getptr(), static_cast<uint32_t>(tangent)});
  if (auto* view = impl::get_view_autograd_meta(tensor))
    view->set_creation_meta(torch::autograd::CreationMeta::IN_CUSTOM_FUNCTION);
}

void CompiledBackward::save(c10::ArrayRef<at::Tensor> slots, const std::vector<at::Tensor>& results,
                            const std::vector<int32_t>& written, int32_t user_inputs) {
  for (auto slot : backward_->saved_slots())
    saved_inputs_.emplace_back(slots[static_cast<size_t>(slot)], false);
  for (auto index : backward_->saved_results()) {
    const auto& result = results[static_cast<size_t>(index)];
    saved_results_.emplace_back(result, result.defined() && result.grad_fn().get() == this);
  }
  if (!backward_->higher_order) return;
  if (backward_->rng_slot >= 0) rng_state_ = slots[static_cast<size_t>(backward_->rng_slot)];
  for (auto i : backward_->primals()) {
    const auto& input = slots[static_cast<size_t>(i)];
    const bool is_written = std::find(written.begin(), written.end(), i) != written.end();
    // A captured tensor is read again as it is then, and a leaf cannot be stood in for.
    lost_.push_back(is_written && (i >= user_inputs || (input.requires_grad() && input.is_leaf())));
    if (lost_.back()) {
      primals_.emplace_back();
    } else if (!is_written) {
      primals_.emplace_back(input, false);
    } else {
      at::Tensor before;  // stands for the input as it was, at its place in autograd's graph
      {
        capture::BelowRecording below;
        before = input.clone();
      }
      if (input.requires_grad()) impl::set_gradient_edge(before, impl::gradient_edge(input));
      primals_.emplace_back(before, false);
    }
  }
}

std::vector<at::Tensor> CompiledBackward::unpack_saved() {
  std::vector<at::Tensor> saved;
  for (auto& input : saved_inputs_) saved.push_back(input.unpack());
  for (auto& result : saved_results_) saved.push_back(result.unpack(shared_from_this()));
  return saved;
}

variable_list CompiledBackward::apply(variable_list&& tangents) {
  std::scoped_lock lock(mutex_);
  if (backward_->error) std::rethrow_exception(backward_->error);
  if (c10::GradMode::is_enabled()) return apply_differentiably(tangents);
  std::vector<bool> wanted;
  for (size_t i = 0; i < num_outputs(); ++i) wanted.push_back(task_should_compute_output(i));
  auto saved = unpack_saved();
  if (releasing_) release_variables();
  return backward_->run(std::move(saved), std::move(tangents), wanted);
}

variable_list CompiledBackward::apply_differentiably(const variable_list& tangents) {
  if (!backward_->higher_order)
    throw Error(ErrorCode::NeedsGrad, "backward", "this compiled function has no second derivatives",
                "Call backward() without create_graph");
  std::vector<at::Tensor> primals;
  for (size_t p = 0; p < primals_.size(); ++p) {
    const auto input = static_cast<size_t>(backward_->primals()[p]);
    if (lost_[p])
      throw Error(
          ErrorCode::NeedsGrad, "backward",
          fmt::format("second derivatives need input {} as it was before the call wrote to it", input),
          "Pass a clone() of it");
    if (primals.size() <= input) primals.resize(input + 1);
    primals[input] = primals_[p].unpack();
  }
  bool any = false;
  for (const auto& tangent : tangents) any = any || tangent.defined();
  if (!any) return variable_list(num_outputs());
  variable_list given;
  for (size_t k = 0; k < tangents.size(); ++k)
    given.push_back(tangents[k].defined() ? tangents[k] : backward_->fit(tangents[k], k));
  const RngReplay replay(rng_state_, generator);
  return backward_->higher_order->gradients(primals, given);
}

void CompiledBackward::release_variables() {
  for (auto& saved : saved_inputs_) saved.reset_data();
  for (auto& saved : saved_results_) saved.reset_data();
  for (auto& saved : primals_) saved.reset_data();
}

}  // namespace antegrad::runtime
