#include "capture/gradients.h"

#include <torch/csrc/autograd/anomaly_mode.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <unordered_set>

namespace antegrad::capture {
namespace {

using torch::autograd::Edge;
using torch::autograd::edge_list;
using torch::autograd::Node;
using torch::autograd::variable_list;
namespace impl = torch::autograd::impl;

/// The history of an argument that is no leaf: it ends here.
struct ArgumentHistory final : Node {
  variable_list apply(variable_list&&) override {
    throw Error(ErrorCode::UnsupportedOp, "capture:backward",
                "backward() inside the function goes on beyond an argument that is not a leaf",
                "Use torch::autograd::grad(), or pass a leaf");
  }
  std::string name() const override { return "AntegradArgument"; }
};

/// The hooks of a lifted tensor, and its history beyond itself.
struct Outlook {
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

/// While it lives lifted tensors have no hooks, and no history beyond themselves.
class CutOff {
 public:
  CutOff(Recorder& recorder, const std::vector<GradTarget>& targets) {
    for (const auto& target : targets) {
      if (target.outsider < 0) continue;
      cut_.push_back({recorder.outside().all()[static_cast<size_t>(target.outsider)].get(), {}, {}, {}, {}});
      cut_.back().exchange();
    }
  }
  ~CutOff() {  // backwards: two tensors may have one history
    for (auto it = cut_.rbegin(); it != cut_.rend(); ++it) it->exchange();
  }
  CutOff(const CutOff&) = delete;
  CutOff& operator=(const CutOff&) = delete;

 private:
  std::vector<Outlook> cut_;
};

/// Anomaly mode would read the contents of fakes.
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

Edge edge_of(const Outsider& outsider) {
  if (!outsider.requires_grad) return {};
  if (outsider.grad_fn) return {outsider.grad_fn, outsider.output_nr};
  return {impl::grad_accumulator(outsider.tensor), 0};
}

const std::shared_ptr<Node>& raw_grad_fn(const at::Tensor& tensor) {
  static const std::shared_ptr<Node> none;
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
    using torch::autograd::CreationMeta;
    const auto made = view->get_creation_meta();
    if (made == CreationMeta::NO_GRAD_MODE && !view->grad_fn_) return;
    if (made == CreationMeta::IN_CUSTOM_FUNCTION) return add(output, true);
    add(view->get_backward_view().base_);
  }

  void skip(const at::Tensor& tensor) {
    if (tensor.defined()) seen_.insert(tensor.unsafeGetTensorImpl());
  }

  void add_input(const at::Tensor& tensor, int32_t input, int32_t outsider) {
    roots_.push_back({tensor, value_of(tensor), input, outsider, false});
  }

  /// Those with a history of their own last: the tensors that carry them are made after all others.
  std::vector<GradRoot> take() {
    std::stable_partition(roots_.begin(), roots_.end(), [](const auto& r) { return !r.has_own_history; });
    return std::move(roots_);
  }

 private:
  void add(const at::Tensor& tensor, bool has_own_history = false) {
    if (!raw_grad_fn(tensor)) return;  // a leaf made inside
    if (!seen_.insert(tensor.unsafeGetTensorImpl()).second) return;
    roots_.push_back({tensor, value_of(tensor), -1, -1, has_own_history});
  }
  ir::ValueId value_of(const at::Tensor& tensor) { return recorder_.value_of(tensor); }

  Recorder& recorder_;
  std::unordered_set<const c10::TensorImpl*> seen_;
  std::vector<GradRoot> roots_;
};

}  // namespace

void copy_autograd_state(const at::Tensor& real, at::Tensor& fake) {
  if (!real.requires_grad()) return;
  if (real.is_leaf()) {
    fake.set_requires_grad(true);
    return;
  }
  auto history = std::shared_ptr<Node>(new ArgumentHistory, torch::autograd::deleteNode);
  const auto number = history->add_input_metadata(fake);
  impl::set_gradient_edge(fake, {history, number});
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

std::vector<GradRoot> find_roots(Recorder& recorder, const std::vector<at::Tensor>& inputs,
                                 const std::vector<Edge>& input_edges,
                                 const std::vector<at::Tensor>& outputs) {
  Roots roots(recorder);
  for (const auto& input : inputs) roots.skip(input);
  for (const auto& outsider : recorder.outside().all()) roots.skip(outsider->tensor);
  for (const auto& output : outputs) roots.add_output(output);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (history_changed(inputs[i], input_edges[i])) roots.add_input(inputs[i], static_cast<int32_t>(i), -1);
  const auto& outsiders = recorder.outside().all();
  for (size_t k = 0; k < outsiders.size(); ++k)
    if (history_changed(outsiders[k]->tensor, {outsiders[k]->grad_fn, outsiders[k]->output_nr}))
      roots.add_input(outsiders[k]->tensor, -1, static_cast<int32_t>(k));
  return roots.take();
}

std::vector<GradTarget> find_targets(Recorder& recorder, const std::vector<Edge>& input_edges) {
  std::vector<GradTarget> targets;
  for (size_t i = 0; i < input_edges.size(); ++i)
    if (input_edges[i].is_valid()) targets.push_back({static_cast<int32_t>(i), -1, input_edges[i]});
  const auto& outsiders = recorder.outside().all();
  for (size_t k = 0; k < outsiders.size(); ++k)
    if (auto edge = edge_of(*outsiders[k]); edge.is_valid())
      targets.push_back({-1, static_cast<int32_t>(k), std::move(edge)});
  return targets;
}

std::vector<at::Tensor> run_backward(Recorder& recorder, const std::vector<GradRoot>& roots,
                                     const std::vector<at::Tensor>& tangents,
                                     const std::vector<GradTarget>& targets, bool create_graph) {
  CutOff cut(recorder, targets);
  AnomalyOff anomaly;
  c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  edge_list from;
  edge_list to;
  for (const auto& root : roots) from.push_back(impl::gradient_edge(root.tensor));
  for (const auto& target : targets) to.push_back(target.edge);
  return torch::autograd::Engine::get_default_engine().execute(from, tangents, create_graph, create_graph,
                                                               false, to);
}

}  // namespace antegrad::capture
