#include "engine/scalars.h"

#include <ATen/ScalarOps.h>
#include <ATen/TensorOperators.h>
#include <torch/csrc/autograd/generated/Functions.h>

#include <typeindex>
#include <unordered_map>

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

namespace {

using AddScalars = void (*)(Node& node, Scalars& scalars);

void add(at::Scalar& scalar, Scalars& scalars) {
  if (scalar.isFloatingPoint() && !scalar.isSymbolic()) scalars.push_back(&scalar);
}
void add(std::optional<at::Scalar>& scalar, Scalars& scalars) {
  if (scalar) add(*scalar, scalars);
}

template <class Type, auto... kFields>
std::pair<std::type_index, AddScalars> row() {
  return {typeid(Type),
          [](Node& node, Scalars& scalars) { (add(static_cast<Type&>(node).*kFields, scalars), ...); }};
}

/// Only what LibTorch's formulas compute with, not what they branch on (the p of a norm).
const std::unordered_map<std::type_index, AddScalars>& table() {
  namespace of = torch::autograd::generated;
  static const auto& rows = *new const std::unordered_map<std::type_index, AddScalars>{
      row<of::AddBackward0, &of::AddBackward0::alpha>(),
      row<of::SubBackward0, &of::SubBackward0::alpha>(),
      row<of::RsubBackward0, &of::RsubBackward0::alpha>(),
      row<of::RsubBackward1, &of::RsubBackward1::alpha>(),
      row<of::PowBackward0, &of::PowBackward0::exponent>(),
      row<of::PowBackward2, &of::PowBackward2::self>(),
      row<of::AddcmulBackward0, &of::AddcmulBackward0::value>(),
      row<of::AddcdivBackward0, &of::AddcdivBackward0::value>(),
      row<of::AddmmBackward0, &of::AddmmBackward0::alpha, &of::AddmmBackward0::beta>(),
      row<of::BaddbmmBackward0, &of::BaddbmmBackward0::alpha, &of::BaddbmmBackward0::beta>(),
      row<of::LerpBackward0, &of::LerpBackward0::weight>(),
      row<of::ClampBackward1, &of::ClampBackward1::min, &of::ClampBackward1::max>(),
      row<of::ClampMinBackward0, &of::ClampMinBackward0::min>(),
      row<of::ClampMaxBackward0, &of::ClampMaxBackward0::max>(),
      row<of::ThresholdBackward0, &of::ThresholdBackward0::threshold>(),
      row<of::HardtanhBackward0, &of::HardtanhBackward0::min_val, &of::HardtanhBackward0::max_val>(),
      row<of::LeakyReluBackward0, &of::LeakyReluBackward0::negative_slope>(),
      row<of::EluBackward0, &of::EluBackward0::alpha, &of::EluBackward0::scale>(),
      row<of::SoftplusBackward0, &of::SoftplusBackward0::beta, &of::SoftplusBackward0::threshold>(),
  };
  return rows;
}

}  // namespace

Scalars plain_scalars(Node& node) {
  Scalars scalars;
  if (const auto found = table().find(typeid(node)); found != table().end()) found->second(node, scalars);
  return scalars;
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
