#pragma once
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace antegrad::passes {

/// The range of a dim, given the ranges of the graph's symbols; not always tight.
ir::Range bounds(const ir::Graph& graph, const ir::Dim& dim);

/// Broadcasts `sizes` with `onto`, which becomes the result. Symbolic sizes broadcast if they are equal as
/// expressions. Returns false if the sizes do not broadcast.
bool broadcast(const std::vector<ir::Dim>& sizes, std::vector<ir::Dim>& onto);

/// Returns the strides that LibTorch gives the result of a pointwise op: dense, in the order of the operands'
/// strides. Returns nothing if symbols hide that order. Dimensions that turn out to have size 1 may have
/// other strides.
std::optional<std::vector<ir::Dim>> pointwise_strides(const ir::Graph& graph,
                                                      const std::vector<ir::Dim>& sizes,
                                                      const std::vector<const ir::TensorType*>& operands);

}  // namespace antegrad::passes
