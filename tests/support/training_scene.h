#pragma once
// Building blocks of the cases of training_like_eager.h: arguments, what follows a call, errors.
#include <torch/csrc/autograd/functions/accumulate_grad.h>

#include <algorithm>
#include <functional>
#include <regex>
#include <unordered_set>

#include "support/against_eager.h"
#include "support/leaf.h"

namespace antegrad::test {

/// The tensors of one world after a call.
struct Scene {
  Tensors captured, inputs, outputs;
};
/// What a case does with the results of a call. What it throws is compared too.
using Finish = std::function<void(const Scene&)>;

/// Adds the leaves that a tensor depends on, in the order of a walk over autograd's graph.
inline void add_leaves(const at::Tensor& tensor, Tensors& leaves) {
  if (!tensor.defined() || !tensor.requires_grad()) return;
  auto add = [&](const at::Tensor& leaf) {
    if (std::none_of(leaves.begin(), leaves.end(), [&](const auto& other) { return other.is_same(leaf); }))
      leaves.push_back(leaf);
  };
  if (tensor.is_leaf()) return add(tensor);
  std::unordered_set<torch::autograd::Node*> seen;
  std::function<void(torch::autograd::Node*)> visit = [&](torch::autograd::Node* node) {
    if (node == nullptr || !seen.insert(node).second) return;
    if (auto* accumulate = dynamic_cast<torch::autograd::AccumulateGrad*>(node)) add(accumulate->variable);
    for (const auto& edge : node->next_edges()) visit(edge.function.get());
  };
  visit(tensor.grad_fn().get());
}

inline Tensors leaves_of(const Tensors& tensors) {
  Tensors leaves;
  for (const auto& tensor : tensors) add_leaves(tensor, leaves);
  return leaves;
}

inline Tensors that_require_grad(const Tensors& tensors) {
  Tensors some;
  for (const auto& tensor : tensors)
    if (tensor.defined() && tensor.requires_grad()) some.push_back(tensor);
  return some;
}

/// Returns random gradients for the tensors, from a new generator each time, so that both worlds get the
/// same.
inline Tensors tangents_for(const Tensors& tensors, int seed = 7) {
  auto generator = at::detail::createCPUGenerator(static_cast<uint64_t>(seed));
  Tensors tangents;
  for (const auto& tensor : tensors)
    tangents.push_back(
        at::randn(tensor.sizes(), generator, tensor.options().dtype(at::kDouble)).to(tensor.dtype()));
  return tangents;
}

/// Runs backward() of all outputs at once.
inline void backward_through(const Tensors& outputs, bool retain_graph = false, bool create_graph = false) {
  const auto roots = that_require_grad(outputs);
  torch::autograd::backward(roots, tangents_for(roots), retain_graph, create_graph);
}
inline void backward_of_outputs(const Scene& scene) { backward_through(scene.outputs); }
inline void backward_of_outputs_and_inputs(const Scene& scene) {
  auto roots = scene.outputs;
  for (const auto& input : scene.inputs)
    if (input.defined() && !input.is_leaf()) roots.push_back(input);
  backward_through(roots);
}
inline void nothing(const Scene&) {}

/// Returns the text of what `call` throws, without stack traces and without the name of the tensor that a
/// backward pass found modified; "" if it throws nothing.
template <class Call>
std::string thrown_by(const Call& call) {
  static const std::regex tensor("inplace operation: .* expected version [0-9]+ instead");
  try {
    call();
  } catch (const std::exception& error) {
    return std::regex_replace(fuzz::message_of(error), tensor, "inplace operation");
  }
  return {};
}

// --- arguments that cases share

/// A tensor with a history, as one layer passes to the next.
inline at::Tensor activation(at::IntArrayRef sizes) { return leaf(sizes) * 1.5; }
inline auto one_leaf() { return std::tuple(leaf({3, 4})); }
inline auto two_leaves() { return std::tuple(leaf({3, 4}), leaf({3, 4})); }
inline auto one_activation() { return std::tuple(activation({3, 4})); }
inline auto two_activations() { return std::tuple(activation({3, 4}), activation({3, 4})); }

}  // namespace antegrad::test
