#pragma once
#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace antegrad::ir {

/// Substitutes one value for each symbol: every Dim and every Real becomes a constant.
Arg substitute(const Arg& arg, const std::vector<int64_t>& values);
Node substitute(const Node& node, const std::vector<int64_t>& values);
TensorType substitute(const TensorType& type, const std::vector<int64_t>& values);
/// The result has no symbols.
Graph substitute(const Graph& graph, const std::vector<int64_t>& values);

}  // namespace antegrad::ir
