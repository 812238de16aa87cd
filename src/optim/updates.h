#pragma once
#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>
#include <torch/optim/optimizer.h>

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "optim/formula.h"

namespace antegrad::optim {

/// What a step does to one parameter.
struct Update {
  Formula formula;
  Numbers numbers{};
  at::Tensor parameter, gradient;
  c10::SmallVector<at::Tensor, 4> state;  ///< in the order of the formula
  int64_t* steps = nullptr;               ///< the counter of the state; null when there is none
  /// How many in-place ops of LibTorch's step write to the parameter and to each tensor of the state.
  int parameter_writes = 1;
  std::array<int, 4> state_writes{2, 2, 2, 2};
  int round = 0;              ///< how many earlier updates are of the same parameter
  double* product = nullptr;  ///< NAdam: what becomes `new_product` after the step
  double new_product = 1;
};

/// State of parameters that the optimizer has not seen yet. It becomes the optimizer's when the step is made.
struct NewState {
  void* parameter = nullptr;
  std::unique_ptr<torch::optim::OptimizerParamState> state;
};

struct Updates {
  std::vector<Update> list;  ///< in the order of LibTorch's step
  std::vector<NewState> made;
};

/// Returns the gradient of a parameter; undefined when there is none.
using GradientOf = c10::function_ref<at::Tensor(const at::Tensor& parameter)>;

/// Returns the method of an optimizer, or nothing for other classes.
std::optional<Method> method_of(const torch::optim::Optimizer& optimizer);

/// Returns what a step of the optimizer would do, and changes nothing. Throws Error(UnsupportedTensor) for
/// tensors that kernels cannot update, and LibTorch's error for gradients that it refuses.
Updates updates_of(torch::optim::Optimizer& optimizer, Method method, GradientOf gradient_of);

/// The same for tensors of any kind, which LibTorch's ops update. Throws LibTorch's error for gradients that
/// the optimizer refuses.
Updates eager_updates_of(torch::optim::Optimizer& optimizer, Method method, GradientOf gradient_of);

/// Counts a step that has been made.
void count(const Update& update);

/// Makes new state the optimizer's. When it throws, the optimizer is as it was.
void hand_over(std::vector<NewState> made, torch::optim::Optimizer& optimizer);

}  // namespace antegrad::optim
