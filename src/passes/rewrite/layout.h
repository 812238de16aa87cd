#pragma once
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace antegrad::passes {

/// What a dim can be, given the ranges of the graph's symbols; not always tight.
ir::Range bounds(const ir::Graph& graph, const ir::Dim& dim);

/// Sizes that operands of these sizes broadcast to. Symbolic sizes broadcast when they are equal by form;
/// false: they do not.
bool broadcast(const std::vector<ir::Dim>& sizes, std::vector<ir::Dim>& onto);

/// The strides that LibTorch gives the result of a pointwise op: dense, in the order of the operands'
/// strides. Nothing where symbols hide that order. Dimensions that turn out to have size 1 may have other
/// strides.
std::optional<std::vector<ir::Dim>> pointwise_strides(const ir::Graph& graph,
                                                      const std::vector<ir::Dim>& sizes,
                                                      const std::vector<const ir::TensorType*>& operands);

}  // namespace antegrad::passes
