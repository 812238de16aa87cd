#include "capture/gradients.h"

#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/anomaly_mode.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <unordered_set>

#include "aten/autograd_types.h"
#include "aten/below_recording.h"
#include "capture/engine_passes.h"

namespace antegrad::capture {

using namespace aten;

namespace {

using torch::autograd::Edge;
using torch::autograd::edge_list;
using torch::autograd::Node;
using torch::autograd::variable_list;
namespace impl = torch::autograd::impl;

/// The history of a non-leaf argument, which ends here.
struct ArgumentHistory final : Node {
  variable_list apply(variable_list&&) override {
    throw Error(ErrorCode::UnsupportedOp, "capture:backward",
                "backward() inside the function would continue past an argument that is not a leaf",
                "Use torch::autograd::grad(), or pass a leaf");
  }
  std::string name() const override { return "AntegradArgument"; }
};

/// Hooks of a lifted tensor and edges of its history, while they are set aside.
struct SetAsideHistory {
  const Outsider* outsider;
  std::vector<std::unique_ptr<torch::autograd::FunctionPreHook>> hooks, pre_hooks;
  std::unordered_map<size_t, std::unique_ptr<torch::autograd::FunctionPreHook>> retain_hooks;
  edge_list edges;

  void exchange() {
    std::swap(impl::hooks(outsider->tensor), hooks);
    if (!outsider->grad_fn) return;
    std::swap(outsider->grad_fn->tensor_pre_hooks(), pre_hooks);
    std::swap(outsider->grad_fn->retains_grad_hooks(), retain_hooks);
    std::swap(outsider->grad_fn->next_edges(), edges);
  }
};

/// While it lives, lifted tensors have no hooks, and their histories lead nowhere.
class IsolateLifted {
 public:
  IsolateLifted(Recorder& recorder, const std::vector<GradTarget>& targets) {
    for (const auto& target : targets) {
      if (target.outsider < 0) continue;
      cut_.push_back({recorder.outside().all()[target.outsider].get(), {}, {}, {}, {}});
      cut_.back().exchange();
    }
  }
  ~IsolateLifted() {  // in reverse, as two tensors may share a history
    for (auto it = cut_.rbegin(); it != cut_.rend(); ++it) it->exchange();
  }
  IsolateLifted(const IsolateLifted&) = delete;
  IsolateLifted& operator=(const IsolateLifted&) = delete;

 private:
  std::vector<SetAsideHistory> cut_;
};

/// While it lives, anomaly mode is off: it would read the contents of fakes.
class AnomalyOff {
 public:
  AnomalyOff()
      : enabled_(torch::autograd::AnomalyMode::is_enabled()),
        check_nan_(torch::autograd::AnomalyMode::should_check_nan()) {
    if (enabled_) torch::autograd::AnomalyMode::set_enabled(false);
  }
  ~AnomalyOff() {
    if (enabled_) torch::autograd::AnomalyMode::set_enabled(true, check_nan_);
  }
  AnomalyOff(const AnomalyOff&) = delete;
  AnomalyOff& operator=(const AnomalyOff&) = delete;

 private:
  bool enabled_, check_nan_;
};

/// Returns the tensor's gradient edge at the call, or that of a leaf which came to require a gradient since.
Edge edge_of(const Outsider& outsider) {
  if (outsider.grad_fn) return {outsider.grad_fn, outsider.output_nr};
  const auto* meta = impl::get_autograd_meta(outsider.tensor);
  const bool became = meta != nullptr && meta->requires_grad_ && !meta->grad_fn_;
  if (!outsider.requires_grad && !became) return {};
  return {impl::grad_accumulator(outsider.tensor), 0};
}

const std::shared_ptr<Node>& raw_grad_fn(const at::Tensor& tensor) {
  static const auto& none = *new const std::shared_ptr<Node>();
  const auto* meta = impl::get_autograd_meta(tensor);
  return meta != nullptr ? meta->grad_fn_ : none;
}

/// Collects each root once.
class Roots {
 public:
  explicit Roots(Recorder& recorder) : recorder_(recorder) {}

  void add_output(const at::Tensor& output) {
    if (!output.defined() || !output.requires_grad()) return;
    const auto* view = impl::get_view_autograd_meta(output);
    if (view == nullptr || !view->has_bw_view()) return add(output);
    const auto& base = view->get_backward_view().base_;
    const bool own = is_of_custom_function(*view) || !base.requires_grad() || is_reshaped(output, base);
    add(own ? output : base, own);
  }

  void skip(const at::Tensor& tensor) {
    if (!tensor.defined()) return;
    seen_.insert(tensor.unsafeGetTensorImpl());
    given_.insert(tensor.unsafeGetTensorImpl());
  }

  void add_input(const at::Tensor& tensor, int32_t input, int32_t outsider) {
    roots_.push_back({tensor, value_of(tensor), input, outsider, false});
  }

  std::vector<GradRoot> take() { return std::move(roots_); }

 private:
  void add(const at::Tensor& tensor, bool has_own_history = false) {
    if (as_fake(tensor) == nullptr || !raw_grad_fn(tensor)) return;  // made outside, or a leaf
    if (!seen_.insert(tensor.unsafeGetTensorImpl()).second) return;
    roots_.push_back({tensor, value_of(tensor), -1, -1, has_own_history});
  }
  ir::ValueId value_of(const at::Tensor& tensor) { return recorder_.value_of(tensor); }

  /// The history of such a view is the custom function's, not that of a view. Functions with several results
  /// mark views as ops with several results do (unbind).
  static bool is_of_custom_function(const torch::autograd::DifferentiableViewMeta& view) {
    using torch::autograd::CreationMeta;
    const auto made = view.get_creation_meta();
    return made == CreationMeta::IN_CUSTOM_FUNCTION ||
           (made == CreationMeta::MULTI_OUTPUT_NODE && view.grad_fn_ && is_custom_function(*view.grad_fn_));
  }

  /// Returns whether a tensor between the base and the view had its shape changed in place. The gradient of
  /// the view is then not part of the base's gradient, which has the final shape of the base.
  bool is_reshaped(const at::Tensor& view, const at::Tensor& base) {
    const auto* fake = as_fake(base);
    const bool base_is = fake != nullptr && fake->is_rebound();
    if (base_is && given_.count(base.unsafeGetTensorImpl()) > 0)
      return false;  // the caller's tensor, through which its gradient comes in
    return base_is || recorder_.has_reshaped_view(value_of(view));
  }

  Recorder& recorder_;
  std::unordered_set<const c10::TensorImpl*> seen_;
  std::unordered_set<const c10::TensorImpl*> given_;  ///< arguments and captured tensors
  std::vector<GradRoot> roots_;
};

}  // namespace

void copy_autograd_state(const at::Tensor& real, at::Tensor& fake) {
  if (!real.requires_grad()) return;
  if (real.is_leaf())
    fake.set_requires_grad(true);
  else
    give_history(fake);
}

void give_history(at::Tensor& tensor) {
  auto history = std::shared_ptr<Node>(new ArgumentHistory, torch::autograd::deleteNode);
  const auto number = history->add_input_metadata(tensor);
  impl::set_gradient_edge(tensor, {history, number});
}

Edge edge_of_input(const at::Tensor& fake) {
  if (!fake.defined() || !fake.requires_grad()) return {};
  return impl::gradient_edge(fake);
}

bool history_changed(const at::Tensor& tensor, const Edge& before) {
  if (!tensor.defined()) return false;
  const auto& now = raw_grad_fn(tensor);
  return now != nullptr && now != before.function;
}

/// Throws for hooks that the function registers on arguments. In eager mode such a hook also sees gradients
/// from elsewhere, and stays; a captured one would see only those of this call.
static void refuse_hooks(const std::vector<at::Tensor>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto* meta = inputs[i].defined() ? impl::get_autograd_meta(inputs[i]) : nullptr;
    if (meta == nullptr || !meta->cpp_hooks_list_) continue;
    const auto& hooks = *meta->cpp_hooks_list_;
    if (std::any_of(hooks.begin(), hooks.end(), [](const auto& hook) { return static_cast<bool>(hook); }))
      throw Error(
          ErrorCode::NeedsGrad, "capture", fmt::format("the function registers a hook on argument {}", i),
          "Register it outside of the function, or on a view of the argument (x.view_as(x)) if it is meant "
          "for what this function contributes to its gradient, or set Options::unsupported to Break");
  }
}

std::vector<GradRoot> find_roots(Recorder& recorder, const std::vector<at::Tensor>& inputs,
                                 const std::vector<Edge>& input_edges,
                                 const std::vector<at::Tensor>& outputs) {
  refuse_hooks(inputs);
  Roots roots(recorder);
  for (const auto& input : inputs) roots.skip(input);
  for (const auto& outsider : recorder.outside().all()) roots.skip(outsider->tensor);
  for (const auto& output : outputs) roots.add_output(output);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (history_changed(inputs[i], input_edges[i])) roots.add_input(inputs[i], static_cast<int32_t>(i), -1);
  const auto& outsiders = recorder.outside().all();
  for (size_t k = 0; k < outsiders.size(); ++k) {
    const auto& outsider = *outsiders[k];
    // After a write through another view of the base, asking for grad_fn updates this view's own history.
    if (outsider.base.defined() && raw_grad_fn(outsider.base) != outsider.base_grad_fn)
      outsider.tensor.grad_fn();
    if (outsider.grad_fn && !raw_grad_fn(outsider.tensor))
      throw Error(ErrorCode::NeedsGrad, "capture:detach_", "the function detaches a captured tensor in place",
                  "Pass the tensor as an argument, or set Options::unsupported to Break");
    if (!history_changed(outsider.tensor, {outsider.grad_fn, outsider.output_nr})) continue;
    // Its gradient would be part of its base's.
    if (outsider.base.defined() && outsider.requires_grad)
      throw Error(ErrorCode::NeedsGrad, "capture",
                  "the function writes to a captured view while autograd records",
                  "Pass the view as an argument, or set Options::unsupported to Break");
    roots.add_input(outsider.tensor, -1, static_cast<int32_t>(k));
  }
  return roots.take();
}

std::vector<GradTarget> find_targets(Recorder& recorder, const std::vector<at::Tensor>& inputs,
                                     const std::vector<Edge>& input_edges) {
  std::vector<GradTarget> targets;
  for (size_t i = 0; i < inputs.size(); ++i) {
    auto edge = input_edges[i];
    const auto* meta = inputs[i].defined() ? impl::get_autograd_meta(inputs[i]) : nullptr;
    if (!edge.is_valid() && meta != nullptr && meta->requires_grad_ && !meta->grad_fn_)
      edge = {impl::grad_accumulator(inputs[i]), 0};
    if (edge.is_valid()) targets.push_back({static_cast<int32_t>(i), -1, std::move(edge)});
  }
  const auto& outsiders = recorder.outside().all();
  for (size_t k = 0; k < outsiders.size(); ++k)
    if (auto edge = edge_of(*outsiders[k]); edge.is_valid())
      targets.push_back({-1, static_cast<int32_t>(k), std::move(edge)});
  return targets;
}

Reached::Reached(const std::vector<GradRoot>& roots) {
  for (const auto& root : roots) {
    auto& seen = nodes_.emplace_back();
    std::vector<const Node*> todo = {impl::gradient_edge(root.tensor).function.get()};
    while (!todo.empty()) {
      const auto* node = todo.back();
      todo.pop_back();
      if (!seen.insert(node).second) continue;
      for (const auto& edge : node->next_edges())
        if (edge.is_valid()) todo.push_back(edge.function.get());
    }
  }
}

bool Reached::from(size_t root, const Node* node) const { return nodes_[root].count(node) > 0; }

uint64_t Reached::bits(const Node* node) const {
  uint64_t bits = 0;
  for (size_t k = 0; k < nodes_.size(); ++k)
    if (from(k, node)) bits |= uint64_t{1} << std::min<size_t>(k, 63);
  return bits;
}

bool Reached::any(const std::function<bool(const Node&)>& predicate) const {
  for (const auto& nodes : nodes_)
    if (std::any_of(nodes.begin(), nodes.end(), [&](const Node* node) { return predicate(*node); }))
      return true;
  return false;
}

void release_histories(const Recorder& recorder) {
  std::unordered_set<const Node*> outside;
  for (const auto& outsider : recorder.outside().all())
    outside.insert({outsider->grad_fn.get(), outsider->base_grad_fn.get()});
  std::unordered_set<const Node*> seen;
  std::vector<std::shared_ptr<Node>> todo;
  for (const auto& fake : recorder.fakes().all()) todo.push_back(raw_grad_fn(fake));
  while (!todo.empty()) {
    const auto node = todo.back();
    todo.pop_back();
    if (!node || outside.count(node.get()) > 0 || !seen.insert(node.get()).second) continue;
    node->release_variables();
    for (const auto& edge : node->next_edges()) todo.push_back(edge.function);
  }
}

/// Takes off the hooks that keep gradients in .grad: what they keep may be of a pass that is discarded.
static void drop_retaining_hooks(const Recorder& recorder) {
  for (const auto& fake : recorder.fakes().all())
    if (const auto& node = raw_grad_fn(fake); node && fake.retains_grad()) node->retains_grad_hooks().clear();
}

std::vector<at::Tensor> run_backward(Recorder& recorder, const std::vector<GradRoot>& roots,
                                     const std::vector<at::Tensor>& tangents,
                                     const std::vector<GradTarget>& targets, bool create_graph) {
  if (targets.empty()) return {};
  run_first_pass();
  drop_retaining_hooks(recorder);
  IsolateLifted cut(recorder, targets);
  AnomalyOff anomaly;
  c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  edge_list from;
  edge_list to;
  for (const auto& root : roots) from.push_back(impl::gradient_edge(root.tensor));
  for (const auto& target : targets) to.push_back(target.edge);
  return torch::autograd::Engine::get_default_engine().execute(from, tangents, true, create_graph, false, to);
}

}  // namespace antegrad::capture
