#pragma once
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>

namespace antegrad::runtime {

/// Hands the gradients of a node to the leaves they are for, in place of the engine, which would visit every
/// leaf by itself. LibTorch's engine goes on with what the last hook after a node gives it: here nothing.
///
/// Only where nobody can tell the difference: a plain backward() whose graph is not kept, all gradients are
/// for leaves on the CPU that no other node refers to, nothing watches (hooks, anomaly mode, profilers).
class LeafGradients final : public torch::autograd::FunctionPostHook {
 public:
  explicit LeafGradients(const torch::autograd::Node& node) : node_(node) {}

  /// Whether it may be added to that node, which the engine is about to run.
  static bool possible(const torch::autograd::Node& node);

  torch::autograd::variable_list operator()(const torch::autograd::variable_list& gradients,
                                            const torch::autograd::variable_list& tangents) override;

 private:
  const torch::autograd::Node& node_;
};

}  // namespace antegrad::runtime
