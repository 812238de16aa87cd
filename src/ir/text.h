#pragma once
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace antegrad::ir {

/// Returns the text of a graph; docs/graph-text.md has the grammar. Numbers values densely, whatever their
/// ids.
std::string print(const Graph& graph);
std::string print(const Graph& graph, const Node& node);  ///< one line, with the actual ids
std::string print(const Type& type);

/// The inverse of print. Throws Error(Parse) with "line L, column C" in its message.
Graph parse(std::string_view text);
Dim parse_dim(std::string_view text);

}  // namespace antegrad::ir
