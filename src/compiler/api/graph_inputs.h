#pragma once
#include <ATen/core/Tensor.h>

#include <string>

#include "ir/graph.h"

namespace antegrad::compiler {

/// Returns why a tensor cannot be given where a graph takes this type, "f64[2] where the graph takes f32[2]";
/// empty when it can. Strides do not matter. An undefined tensor is what a graph takes that has no input
/// there.
std::string misfit(const at::Tensor& given, const ir::Type& wanted);

/// Returns the tensor with these strides and this offset and without lazy bits, a copy unless it has them
/// already. Where the layout is expanded, the values must repeat.
at::Tensor in_layout(const at::Tensor& given, const ir::TensorType& type);

/// Returns a view of flat memory with this layout.
at::Tensor strided(const at::Tensor& flat, const ir::TensorType& type);
/// Returns how many elements of memory a tensor of this type needs, from the start of its storage.
int64_t reach_of(const ir::TensorType& type);

}  // namespace antegrad::compiler
