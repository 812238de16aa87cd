#include "aten/autograd_types.h"

#include <string_view>
#include <typeinfo>

namespace antegrad::aten {

using torch::autograd::CppFunctionTensorPreHook;
using torch::autograd::FunctionPreHook;
using torch::autograd::Node;

bool is_generated(const Node& node) {
  return std::string_view(typeid(node).name()).starts_with("N5torch8autograd9generated");
}

bool is_custom_function(const Node& node) {
  return std::string_view(typeid(node).name()).starts_with("N5torch8autograd7CppNode");
}

CppFunctionTensorPreHook* as_tensor_hooks(FunctionPreHook& hook) {
  return typeid(hook).name() == std::string_view("N5torch8autograd24CppFunctionTensorPreHookE")
             ? static_cast<CppFunctionTensorPreHook*>(&hook)
             : nullptr;
}

bool retains_gradient(const FunctionPreHook& hook) {
  return typeid(hook).name() == std::string_view("N5torch8autograd30CppFunctionSingleTensorPreHookE");
}

}  // namespace antegrad::aten
