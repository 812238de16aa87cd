#pragma once
#include "ir/graph.h"

namespace antegrad::runtime {

/// How a node propagates the errors of its arguments.
enum class ErrorRule {
  Exact,       ///< makes given numbers (constants, zeros)
  Fresh,       ///< makes rounded numbers; how errors propagate is unknown
  Move,        ///< its elements are elements of its arguments
  Sum,         ///< each element is a sum of elements of its argument
  Accumulate,  ///< the same, at positions given by indices
  Largest,     ///< each element is one of several elements of its argument
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

/// Returns the node alone as a graph in which floating-point numbers are f64. Where another op than the
/// node's own propagates errors, that one: amax for amin, as the least of several is off by no more than the
/// largest error; sub for a comparison, as the distance of two numbers decides whether it is certain.
ir::Graph error_graph(const ir::Graph& graph, const ir::Node& node);

/// Returns the values that the node reads, each once, as inputs of error_graph().
std::vector<ir::ValueId> reads_of(const ir::Node& node);

}  // namespace antegrad::runtime
