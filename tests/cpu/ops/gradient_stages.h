#pragma once
// Differentiates a function once and twice and keeps the results of each stage, so that eager and compiled
// can be compared stage by stage, errors included.
#include "cpu/ops/gradient_case.h"
#include "support/seeds.h"

namespace antegrad::test {

enum class Stage { Forward, Backward, CreateGraph, SecondBackward };

struct Plan {
  Stage last = Stage::SecondBackward;
  bool expanded_tangents = false;  ///< with strides unlike those of the results, as the gradient of a sum has
};

struct Stages {
  Tensors outputs;
  Tensors first;       ///< gradients of the inputs
  Tensors first_kept;  ///< the same with create_graph
  Tensors second;      ///< gradients of those with respect to the inputs and the tangents
  bool differentiable = false;
  Stage stage = Stage::Forward;  ///< the last one that was started
  std::string error;             ///< what ended it; "" when nothing was thrown

  bool reached(Stage asked) const { return asked < stage || (asked == stage && error.empty()); }
};

inline Tensors requiring_grad(const Tensors& tensors) {
  Tensors out;
  for (const auto& tensor : tensors)
    if (tensor.defined() && tensor.requires_grad()) out.push_back(tensor);
  return out;
}

/// Returns tangents that depend only on seed and sizes. They have the strides of the tensors: a compiled
/// backward pass gives its tangents these strides, and those of gradients follow from them.
inline Tensors tangents_for(const Tensors& tensors, uint64_t seed, bool requires_grad = false) {
  test::manual_seed(seed);
  Tensors out;
  for (const auto& tensor : tensors) {
    const auto values = at::randn(tensor.sizes(), tensor.options().requires_grad(false));
    out.push_back(at::empty_like(tensor.detach()).copy_(values).set_requires_grad(requires_grad));
  }
  return out;
}

/// Tangents that are constant along the first dimension, with stride 0.
inline Tensors expanded_tangents_for(const Tensors& tensors, uint64_t seed) {
  Tensors out = tangents_for(tensors, seed);
  for (auto& tangent : out)
    if (tangent.dim() > 0 && tangent.numel() > 0) tangent = tangent.narrow(0, 0, 1).expand(tangent.sizes());
  return out;
}

inline Tensors gradients_of(const Tensors& roots, const Tensors& leaves, const Tensors& tangents,
                            bool create_graph) {
  return torch::autograd::grad(roots, leaves, tangents, /*retain_graph=*/true, create_graph,
                               /*allow_unused=*/true);
}

template <class F>
void run_stages(const F& function, const Tensors& inputs, const Plan& plan, Stages& stages) {
  test::manual_seed(1);
  stages.outputs = function(inputs);
  const auto roots = requiring_grad(stages.outputs);
  stages.differentiable = !roots.empty();
  if (roots.empty()) return;
  auto leaves = requiring_grad(inputs);

  stages.stage = Stage::Backward;
  stages.first =
      gradients_of(roots, leaves,
                   plan.expanded_tangents ? expanded_tangents_for(roots, 2) : tangents_for(roots, 2), false);
  if (plan.last == Stage::Backward) return;

  stages.stage = Stage::CreateGraph;
  const auto tangents = tangents_for(roots, 2, /*requires_grad=*/true);
  stages.first_kept = gradients_of(roots, leaves, tangents, true);
  const auto seconds = requiring_grad(stages.first_kept);
  if (seconds.empty()) return;

  stages.stage = Stage::SecondBackward;
  leaves.insert(leaves.end(), tangents.begin(), tangents.end());
  stages.second = gradients_of(seconds, leaves, tangents_for(seconds, 3), false);
}

template <class F>
Stages differentiate(const F& function, const Tensors& inputs, const Plan& plan = {}) {
  Stages stages;
  try {
    run_stages(function, inputs, plan, stages);
  } catch (const c10::Error& error) {
    stages.error = error.what_without_backtrace();
  } catch (const std::exception& error) {
    stages.error = error.what();
  }
  return stages;
}

}  // namespace antegrad::test
