#pragma once
#include <torch/csrc/autograd/cpp_hook.h>
#include <torch/csrc/autograd/function.h>

// Types of autograd's nodes and hooks that LibTorch does not export, or has many of: they are recognised by
// the (mangled) name of their type.
namespace antegrad::aten {

/// Whether LibTorch has generated the node's class for one of its ops.
bool is_generated(const torch::autograd::Node& node);
/// Whether the node is the backward pass of a torch::autograd::Function.
bool is_custom_function(const torch::autograd::Node& node);

/// Returns the hooks that Tensor::register_hook() has added; null when it is another kind of hook.
torch::autograd::CppFunctionTensorPreHook* as_tensor_hooks(torch::autograd::FunctionPreHook& hook);
/// Whether it is the hook of Tensor::retain_grad().
bool retains_gradient(const torch::autograd::FunctionPreHook& hook);

}  // namespace antegrad::aten
