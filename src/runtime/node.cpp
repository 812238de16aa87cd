#include "runtime/node.h"

#include <fmt/format.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/csrc/dynamo/compiled_autograd.h>

#include "antegrad/error.h"
#include "aten/below_recording.h"
#include "capture/tape.h"
#include "runtime/calling_thread.h"
#include "runtime/instructions.h"
#include "runtime/leaf_gradients.h"
#include "runtime/tensor_memory.h"

namespace antegrad::runtime {

using torch::autograd::SavedVariable;
using torch::autograd::variable_list;
namespace impl = torch::autograd::impl;

namespace {

/// Returns a copy of an input as it is before the call writes to it, at the input's place in autograd's
/// graph.
at::Tensor stand_in_for(const at::Tensor& input) {
  at::Tensor before;
  {
    const aten::BelowRecording below;
    before = empty_with_offset(input.sizes(), input.strides(), input.storage_offset(), input.options());
    copy_memory(before, input);
  }
  if (input.requires_grad()) impl::set_gradient_edge(before, impl::gradient_edge(input));
  return before;
}

/// Returns a tensor object on the same memory, with the same history and version, that keeps its history when
/// the call detaches the input.
at::Tensor with_own_history(const at::Tensor& tensor) {
  if (tensor.is_leaf()) return tensor;
  const auto* own = tensor.unsafeGetTensorImpl();
  at::Tensor copy(own->shallow_copy_and_detach(own->version_counter(), true));
  impl::set_gradient_edge(copy, impl::gradient_edge(tensor));
  return copy;
}

/// Returns a tensor on the same memory whose version does not count writes to other views. Not for leaves.
at::Tensor with_own_version(const at::Tensor& tensor) {
  auto alias = as_new_tensor(tensor);
  if (tensor.requires_grad()) impl::set_gradient_edge(alias, impl::gradient_edge(tensor));
  return alias;
}

}  // namespace

CompiledBackward::CompiledBackward(std::shared_ptr<const Backward> backward, c10::ArrayRef<at::Tensor> inputs)
    : backward_(std::move(backward)), symbols_(backward_->symbols().begin(), backward_->symbols().end()) {
  torch::autograd::edge_list edges;
  edges.reserve(backward_->gradients().size());
  for (auto i : backward_->gradients()) {
    const auto& input = inputs[i];
    edges.push_back(input.requires_grad() ? impl::gradient_edge(input) : torch::autograd::Edge());
  }
  set_next_edges(std::move(edges));
  for (const auto& type : backward_->tangent_types()) {
    if (type.options.device().is_cuda()) run_passes_on_calling_thread();
    add_input_metadata(type.options, type.symbolic_sizes, false, false, type.options.dtype().toScalarType());
  }
}

void CompiledBackward::attach(const at::Tensor& tensor, int32_t tangent) {
  impl::set_gradient_edge(tensor, {getptr(), static_cast<uint32_t>(tangent)});
  if (auto* view = impl::get_view_autograd_meta(tensor))
    view->set_creation_meta(torch::autograd::CreationMeta::IN_CUSTOM_FUNCTION);
}

void CompiledBackward::save(c10::ArrayRef<at::Tensor> slots, const std::vector<at::Tensor>& results,
                            const std::vector<InputEffect>& fates, const std::vector<int32_t>& written) {
  // Views of one tensor share a version, so a write to another of them would count as a write to this one.
  auto shares_version = [&](const at::Tensor& tensor) {
    return std::any_of(written.begin(), written.end(), [&](int32_t w) {
      const auto& other = slots[w];
      return other.has_storage() && other.storage().is_alias_of(tensor.storage());
    });
  };
  const auto& kept = backward_->kept_slots();
  kept_.reserve(kept.size());
  saved_results_.reserve(backward_->saved_results().size());
  for (size_t k = 0; k < kept.size(); ++k) {
    const size_t slot = kept[k];
    const auto& tensor = slots[slot];
    if (const auto& late = backward_->facts().late; std::count(late.begin(), late.end(), kept[k]) > 0) {
      late_.resize(k + 1);
      late_[k] = tensor;
      kept_.emplace_back();
      continue;
    }
    const bool detached = fates[slot] == InputEffect::Detached;
    auto fate = k >= backward_->saved_slots() || detached ? fates[slot] : InputEffect::Kept;
    if (fate == InputEffect::Written && tensor.requires_grad() && tensor.is_leaf()) fate = InputEffect::Lost;
    if (fate == InputEffect::Lost) lost_.push_back(kept[k]);
    if (fate == InputEffect::Kept && tensor.requires_grad() && tensor.is_leaf() && shares_version(tensor)) {
      saved_after_writes_.push_back(k);
      kept_.emplace_back();
      continue;
    }
    kept_.push_back(fate == InputEffect::Lost      ? SavedVariable()
                    : fate == InputEffect::Written ? SavedVariable(stand_in_for(tensor), false)
                    : detached                     ? SavedVariable(with_own_history(tensor), false)
                    : shares_version(tensor)       ? SavedVariable(with_own_version(tensor), false)
                                                   : SavedVariable(tensor, false));
  }
  for (auto index : backward_->saved_results()) {
    const auto& result = results[index];
    saved_results_.emplace_back(result, result.defined() && result.grad_fn().get() == this);
  }
  for (const auto& [slot, times] : backward_->writes()) written_.push_back(slots[slot]);
  if (const auto slot = backward_->facts().rng_slot; slot >= 0) rng_state_ = slots[slot];
}

void CompiledBackward::save_after_writes(c10::ArrayRef<at::Tensor> slots) {
  for (const auto k : saved_after_writes_) kept_[k] = SavedVariable(slots[backward_->kept_slots()[k]], false);
}

at::Tensor CompiledBackward::unpack_slot(size_t place) const {
  if (place >= late_.size() || !late_[place].defined()) return kept_[place].unpack();
  TORCH_CHECK(!released_, torch::autograd::ERR_BACKWARD_TWICE);
  return late_[place];
}

/// Returns whether one of these tangents needs that saved input.
static bool is_read(const Backward& backward, uint64_t tangents, size_t input) {
  for (size_t k = 0; k < backward.tangent_types().size(); ++k)
    if ((tangents >> k & 1) != 0 && backward.reads()[k][input]) return true;
  return false;
}

std::vector<at::Tensor> CompiledBackward::unpack_saved(uint64_t tangents) {
  const auto slots = backward_->saved_slots();
  const auto& places = backward_->places();
  std::vector<at::Tensor> saved;
  saved.reserve(places.size() + backward_->tangent_types().size());
  for (size_t i = 0; i < places.size(); ++i) {
    if (passed_ != 0 && !released_ && !is_read(*backward_, tangents, i))
      saved.emplace_back();  // it may have been released
    else
      saved.push_back(places[i] < slots ? unpack_slot(places[i])
                                        : saved_results_[places[i] - slots].unpack(shared_from_this()));
  }
  return saved;
}

c10::SmallVector<bool, 16> CompiledBackward::wanted() const {
  c10::SmallVector<bool, 16> wanted;
  for (size_t i = 0; i < num_outputs(); ++i) wanted.push_back(task_should_compute_output(i));
  return wanted;
}

variable_list CompiledBackward::apply(variable_list&& tangents) {
  const capture::TapeOff real_tensors("the function runs a compiled backward pass");
  std::scoped_lock lock(mutex_);
  try {
    return run(std::move(tangents));
  } catch (...) {
    withdraw_leaf_gradients();
    throw;
  }
}

variable_list CompiledBackward::run(variable_list&& tangents) {
  const auto wanted = this->wanted();
  backward_->check(tangents, wanted);
  const auto defined = Backward::bits(tangents);
  TORCH_CHECK((backward_->spent_by(passed_) & defined) == 0, torch::autograd::ERR_BACKWARD_TWICE);
  const bool release = std::exchange(releasing_, false);
  if (c10::GradMode::is_enabled()) {
    auto gradients = apply_differentiably(tangents);
    if (release) let_go_after(defined);
    return gradients;
  }
  auto saved = unpack_saved(defined);
  if (release) let_go_after(defined);
  auto results = backward_->run(std::move(saved), std::move(tangents), wanted);
  write(results);
  return results;
}

void CompiledBackward::compiled_args(torch::dynamo::autograd::CompiledNodeArgs& arguments) const {
  arguments.collect(backward_->identity());
  arguments.collect(symbols_);
  for (size_t k = 0; k < backward_->saved_slots(); ++k) arguments.collect(kept_[k], false);
  for (const auto& result : saved_results_) arguments.collect(result, true);
}

variable_list CompiledBackward::apply_with_saved(const variable_list& tangents,
                                                 torch::dynamo::autograd::SwapSavedVariables& saved) {
  for (size_t k = 0; k < backward_->saved_slots(); ++k) saved.before(kept_[k]);
  for (auto& result : saved_results_) saved.before(result);
  saved.before(symbols_);
  std::vector<int64_t> symbols;
  for (const auto& symbol : symbols_) symbols.push_back(symbol.expect_int());
  auto gradients = backward_->record(unpack_saved(), tangents, wanted(), symbols);
  saved.after(symbols_);
  for (size_t k = 0; k < backward_->saved_slots(); ++k) saved.after(kept_[k]);
  for (auto& result : saved_results_) saved.after(result);
  return gradients;
}

/// Copies the last results to the inputs whose new contents they are.
void CompiledBackward::write(variable_list& results) const {
  const auto first = backward_->gradients().size();
  const aten::BelowRecording below;
  for (size_t i = 0; i < written_.size(); ++i) {
    copy_memory(written_[i], results[first + i]);
    for (int32_t n = 0; n < backward_->writes()[i].second; ++n)
      written_[i].unsafeGetTensorImpl()->bump_version();
  }
  results.resize(first);
}

variable_list CompiledBackward::apply_differentiably(const variable_list& tangents) {
  const auto& facts = backward_->facts();
  if (!written_.empty())
    throw Error(ErrorCode::NeedsGrad, "backward",
                c10::str("the backward pass of a custom function writes to a tensor of shape ",
                         written_.front().sizes(),
                         " that was made outside, which is not supported with create_graph"),
                "Call backward() without create_graph, or return what is written as a result");
  if (facts.communicates)
    throw Error(ErrorCode::NeedsGrad, "backward",
                "gradients that are summed over processes (Options::gradients) have no derivatives",
                "Call backward() without create_graph, or sum with antegrad::distributed::all_reduce");
  if (!facts.higher_order)
    throw Error(ErrorCode::NeedsGrad, "backward", "this compiled function has no second derivatives",
                "Call backward() without create_graph");
  if (!facts.runs_once.empty())
    throw Error(ErrorCode::NeedsGrad, "backward:" + facts.runs_once,
                "second derivatives would call this op again, and its side effects are unknown",
                "Call backward() without create_graph, or register its shape with OpEffects::None");
  if (!lost_.empty())
    throw Error(
        ErrorCode::NeedsGrad, "backward",
        fmt::format("second derivatives need input {} as it was before the call wrote to it", lost_.front()),
        "Pass a clone() of it");
  std::vector<at::Tensor> primals;
  for (size_t k = 0; k < kept_.size(); ++k) {
    const size_t slot = backward_->kept_slots()[k];
    if (primals.size() <= slot) primals.resize(slot + 1);
    primals[slot] = kept_[k].unpack();
  }
  const RngReplay replay(rng_state_, generator);
  const GeneratorReplay replay_others(generators);
  return facts.higher_order->gradients(primals, tangents);
}

void CompiledBackward::will_release_variables() {
  releasing_ = true;
  let_go_ = false;
  if (LeafGradients::possible(*this)) leaf_gradients_ = add_post_hook(std::make_unique<LeafGradients>(*this));
}

void CompiledBackward::release_variables() {
  if (!std::exchange(let_go_, false)) let_go_of_saved();
  withdraw_leaf_gradients();
}

/// Eager releases the saved tensors of the nodes that a pass has visited. Those that only other results lead
/// to stay, so that a pass through these is still possible.
void CompiledBackward::let_go_after(uint64_t tangents) {
  let_go_ = true;
  passed_ |= tangents;
  const auto count = backward_->tangent_types().size();
  const auto all = count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
  const auto left = all & ~backward_->spent_by(passed_);
  if (left == 0 || count > 64) return let_go_of_saved();
  const auto slots = backward_->saved_slots();
  const auto& places = backward_->places();
  for (size_t i = 0; i < places.size(); ++i) {
    if (is_read(*backward_, left, i)) continue;
    if (places[i] >= slots)
      saved_results_[places[i] - slots].reset_data();
    else if (places[i] >= late_.size() || !late_[places[i]].defined())
      kept_[places[i]].reset_data();
  }
}

void CompiledBackward::withdraw_leaf_gradients() {
  if (leaf_gradients_ != 0) del_post_hook(std::exchange(leaf_gradients_, 0));
}

void CompiledBackward::let_go_of_saved() {
  released_ = true;
  for (auto& saved : kept_) saved.reset_data();
  for (auto& saved : saved_results_) saved.reset_data();
  late_.clear();
  rng_state_ = generator = at::Tensor();
  generators.clear();
}

}  // namespace antegrad::runtime
