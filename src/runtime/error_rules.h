#pragma once
#include "ir/graph.h"

namespace antegrad::runtime {

/// How a node propagates the errors of its arguments.
enum class ErrorRule {
  Exact,       ///< makes numbers that are given
  Fresh,       ///< makes rounded numbers; nothing is known of its arguments' errors
  Move,        ///< its elements are elements of its arguments
  Sum,         ///< sums of elements of its argument
  Accumulate,  ///< the same, at positions given by indices
  Largest,     ///< each is one of several elements of its argument
  Product,
  Any,        ///< booleans, each from several others
  Compare,    ///< booleans, each from comparing two numbers
  Pointwise,  ///< each element from one element of each argument
};

ErrorRule error_rule(const ir::Node& node);

/// Returns whether a pointwise op does not round: it selects, or drops digits.
bool rounds_nothing(const ir::Node& node, const ir::Graph& graph);

/// Returns whether LibTorch computes small results of the function, in half types, only as accurately as
/// results near one.
bool is_coarse_near_zero(const ir::Node& node);

/// Returns the node alone as a graph in which floating-point numbers are f64. Where errors propagate by
/// another op than the node's own, by that: the least of several is off by no more than the largest error
/// (amax), and the distance of two numbers decides whether a comparison is certain (sub).
ir::Graph error_graph(const ir::Graph& graph, const ir::Node& node);

/// Returns the values that the node reads, each once, as inputs of error_graph().
std::vector<ir::ValueId> reads_of(const ir::Node& node);

}  // namespace antegrad::runtime
