#pragma once
#include "ir/graph.h"

namespace antegrad::runtime {

/// How a node hands the errors of its arguments on.
enum class ErrorRule {
  Exact,       ///< it makes numbers that are given
  Fresh,       ///< it makes numbers with roundings of its own; of its arguments nothing is known
  Move,        ///< its elements are elements of its arguments
  Sum,         ///< sums of elements of its argument
  Accumulate,  ///< the same, at places that are given by indices
  Largest,     ///< each is one of several elements of its argument
  Product,
  Any,        ///< booleans made of several
  Compare,    ///< booleans, each from two numbers that are equal, or not, or larger
  Pointwise,  ///< each element from one of each argument
};

ErrorRule error_rule(const ir::Node& node);

/// Pointwise ops that round nothing: they choose, or take digits away.
bool rounds_nothing(const ir::Node& node, const ir::Graph& graph);

/// Functions of which LibTorch gives small results, in half types, as accurate as results near one.
bool is_coarse_near_zero(const ir::Node& node);

/// The node alone as a graph in which floating-point numbers are f64. Where the node hands errors on by
/// another op than its own (the least of several is off by no more than the largest error; how near two
/// numbers are decides whether a comparison is certain), by that.
ir::Graph error_graph(const ir::Graph& graph, const ir::Node& node);

/// The values that the node reads, each once, as inputs of error_graph().
std::vector<ir::ValueId> reads_of(const ir::Node& node);

}  // namespace antegrad::runtime
