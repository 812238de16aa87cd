#include "runtime/leaf_gradients.h"

#include <ATen/record_function.h>
#include <torch/csrc/autograd/anomaly_mode.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/graph_task.h>

#include <typeinfo>

namespace antegrad::runtime {

using torch::autograd::AccumulateGrad;
using torch::autograd::Edge;
using torch::autograd::Node;
using torch::autograd::variable_list;

namespace {

/// The engine keeps incoming gradients alive for post hooks, which is not worth it for large tensors.
constexpr int64_t kMostBytesKept = 1 << 16;

bool are_small(const Node& node) {
  int64_t bytes = 0;
  for (uint32_t i = 0; i < node.num_inputs(); ++i) {
    const auto& tangent = node.input_metadata(i);
    bytes += c10::multiply_integers(c10::asIntArrayRefUnchecked(tangent.shape_as_dim_vector())) *
             static_cast<int64_t>(tangent.options().dtype().itemsize());
  }
  return bytes <= kMostBytesKept;
}

/// On a CUDA device the engine would add the gradient on the stream that the leaf's node was made on.
bool is_reached_by(Node& from, Node& leaf) {
  return static_cast<AccumulateGrad&>(leaf).variable.is_cpu() ||
         (from.device() == leaf.device() && from.stream() == leaf.stream());
}

bool is_unwatched_leaf(Node& from, const Edge& edge) {
  Node& node = *edge.function;
  if (typeid(node) != typeid(AccumulateGrad) || edge.function.use_count() != 1) return false;
  return node.tensor_pre_hooks().empty() && node.retains_grad_hooks().empty() && node.pre_hooks().empty() &&
         node.post_hooks().empty() && node.tensor_post_acc_grad_hooks() == nullptr &&
         is_reached_by(from, node);
}

/// Gives access to the mutex of a node, a protected member.
struct NodeMutex : Node {
  static std::mutex& of(Node& node) { return node.*(&NodeMutex::mutex_); }
};

/// Sets .grad as AccumulateGrad does, without copying a tensor object that nobody else holds. Returns false
/// where that is not possible.
bool steal(AccumulateGrad& leaf, at::Tensor& gradient) {
  const auto& variable = leaf.variable;
  if (gradient.use_count() != 1 || gradient.layout() != at::kStrided || variable.layout() != at::kStrided ||
      variable.grad_fn() != nullptr || !variable.requires_grad() ||
      !torch::autograd::utils::obeys_layout_contract(gradient, variable))
    return false;
  const std::scoped_lock lock(NodeMutex::of(leaf));
  auto& grad = variable.mutable_grad();
  if (grad.defined()) return false;
  grad = std::move(gradient);
  return true;
}

}  // namespace

bool LeafGradients::possible(Node& node) {
  const auto* asked_for = torch::autograd::get_current_graph_task_exec_info();
  if (asked_for == nullptr || !asked_for->empty() || torch::autograd::get_current_graph_task_keep_graph() ||
      torch::autograd::get_current_node().get() != &node)
    return false;
  if (c10::GradMode::is_enabled() || torch::autograd::AnomalyMode::is_enabled() || at::hasCallbacks() ||
      !node.post_hooks().empty() || !are_small(node))
    return false;
  const auto& edges = node.next_edges();
  return std::all_of(edges.begin(), edges.end(),
                     [&](const Edge& edge) { return !edge.is_valid() || is_unwatched_leaf(node, edge); });
}

variable_list LeafGradients::operator()(const variable_list& gradients, const variable_list&) {
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined() || !node_.next_edge(i).is_valid()) continue;
    auto& leaf = static_cast<AccumulateGrad&>(*node_.next_edge(i).function);
    // The list is the engine's, which has no other use for it.
    auto& gradient = const_cast<at::Tensor&>(gradients[i]);
    if (steal(leaf, gradient)) continue;
    variable_list one(1);
    one[0] = std::move(gradient);
    leaf.apply(std::move(one));
  }
  return {};
}

}  // namespace antegrad::runtime
