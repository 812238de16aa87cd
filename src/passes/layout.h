#pragma once
#include <vector>

#include "ir/types.h"

namespace antegrad::passes {

/// Sizes that operands of these sizes broadcast to. Symbolic sizes broadcast when they are equal by form;
/// false: they do not.
bool broadcast(const std::vector<ir::Dim>& sizes, std::vector<ir::Dim>& onto);

/// The strides that LibTorch gives the result of a pointwise op: dense, in the order of the operands'
/// strides. Row-major where symbols hide that order.
std::vector<ir::Dim> pointwise_strides(const std::vector<ir::Dim>& sizes,
                                       const std::vector<const ir::TensorType*>& operands);

}  // namespace antegrad::passes
