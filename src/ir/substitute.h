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

/// Returns whether a graph over symbols is this graph at these values, with the same values ids; cheaper than
/// comparing with substitute(). False also where an expression has no value there.
bool equal_at(const Graph& over_symbols, const std::vector<int64_t>& values, const Graph& graph);

}  // namespace antegrad::ir
