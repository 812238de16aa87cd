#pragma once
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace antegrad::capture {

/// Computes the results of an op that has no meta kernel in LibTorch: takes the op's arguments (tensors on
/// the meta device; the stack holds nothing else) and leaves meta tensors with the dtype, sizes and strides
/// that the CPU kernel gives. Throws c10::Error on arguments from which no shape can be made; data-dependent
/// checks of the real kernel are not repeated. Runs with autograd off, whatever the caller's state.
using ShapeRule = void (*)(torch::jit::Stack& stack);

/// The rule for an op, by "aten::name.overload"; null when there is none. A rule comes before the op's own
/// meta or composite kernel: some composite kernels call ops that have no meta kernel, or give other strides
/// than the CPU.
ShapeRule find_shape_rule(const c10::OperatorName& name);

/// Whether the sizes of the op's results depend on tensor data, so that no rule can exist (nonzero, unique
/// …).
bool has_data_dependent_shape(const c10::OperatorName& name);

}  // namespace antegrad::capture
