#pragma once
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace antegrad::capture {

/// Computes the result types of an op: takes the op's arguments (tensors on the meta device; the stack holds
/// nothing else) and leaves meta tensors with the dtype, sizes and strides that the CPU kernel gives. Throws
/// c10::Error on arguments that determine no shape; does not repeat data-dependent checks of the real kernel.
/// Runs with autograd off, whatever the caller's state.
using ShapeRule = void (*)(torch::jit::Stack& stack);

/// Returns the rule for the op "aten::name.overload"; null when there is none. A rule takes precedence over
/// the op's own meta or composite kernel: some composite kernels call ops without a meta kernel, or give
/// strides that differ from the CPU's.
ShapeRule find_shape_rule(const c10::OperatorName& name);

/// Replaces the arguments on the stack by the results, as a rule does, if the op is one whose CUDA kernel
/// gives other types than the CPU's. Returns false otherwise.
bool infer_by_cuda_rule(const c10::OperatorName& name, torch::jit::Stack& stack);

/// Returns whether the sizes of the op's results depend on tensor data, so that no rule can exist (nonzero,
/// unique …).
bool has_data_dependent_shape(const c10::OperatorName& name);

}  // namespace antegrad::capture
