#include "engine/scalars.h"

#include <ATen/ScalarOps.h>
#include <ATen/TensorOperators.h>
#include <torch/csrc/autograd/generated/Functions.h>

namespace antegrad::engine {

using torch::autograd::Node;
using torch::autograd::variable_list;
using torch::autograd::generated::DivBackward1;
using torch::autograd::generated::MulBackward1;

at::Scalar* changing_scalar(Node& node) {
  at::Scalar* scalar = nullptr;
  bool real = false;
  if (auto* mul = dynamic_cast<MulBackward1*>(&node)) {
    scalar = &mul->other;
    real = !c10::isComplexType(mul->self_scalar_type);
  } else if (auto* div = dynamic_cast<DivBackward1*>(&node)) {
    scalar = &div->other;
    real = !c10::isComplexType(div->self_scalar_type);
  }
  return real && scalar->isFloatingPoint() && !scalar->isSymbolic() ? scalar : nullptr;
}

at::Tensor as_number(const at::Scalar& scalar) {
  auto tensor = c10::scalar_to_tensor(scalar);
  tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

variable_list apply_with_number(const Node& node, const variable_list& incoming, const at::Tensor& number) {
  if (!incoming[0].defined()) return {at::Tensor()};
  const bool divides = dynamic_cast<const DivBackward1*>(&node) != nullptr;
  return {divides ? incoming[0] / number : incoming[0] * number};
}

}  // namespace antegrad::engine
