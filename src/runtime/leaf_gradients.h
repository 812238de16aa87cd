#pragma once
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>

namespace antegrad::runtime {

/// Passes the gradients of a node on to leaves, in place of the engine, which would visit every leaf
/// separately. The engine continues with what the last post hook of a node returns: here nothing.
///
/// Used only where the difference cannot be observed: a plain backward() whose graph is not retained, all
/// gradients are for leaves that no other node refers to, on the CPU or on the node's own device and stream,
/// nothing watches (hooks, anomaly mode, profilers).
class LeafGradients final : public torch::autograd::FunctionPostHook {
 public:
  explicit LeafGradients(const torch::autograd::Node& node) : node_(node) {}

  /// Returns whether the hook may be added to that node, which the engine is about to run.
  static bool possible(torch::autograd::Node& node);

  torch::autograd::variable_list operator()(const torch::autograd::variable_list& gradients,
                                            const torch::autograd::variable_list& tangents) override;

 private:
  const torch::autograd::Node& node_;
};

}  // namespace antegrad::runtime
