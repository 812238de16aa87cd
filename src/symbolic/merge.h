#pragma once
#include <string>
#include <vector>

#include "ir/graph.h"
#include "symbolic/shapes.h"
#include "symbolic/solver.h"

namespace antegrad::symbolic {

/// The reason why several captures of a function cannot be merged into one program over symbols.
struct Mismatch {
  std::string reason;
};

/// Merges the graphs of one function at several sizes into one graph over symbols: their structure must be
/// equal, and every integer and number that differs must be an expression of the symbols. Throws Mismatch
/// otherwise. The caller sets the symbols of the result. The solver learns the expressions that are found.
ir::Graph merge(const std::vector<const ir::Graph*>& graphs, Solver& solver);
/// The same for graphs that were captured at these values of the symbols of `shapes`, which the result gets.
/// Arguments that are symbols already, the same in all graphs, stay what they are.
struct Merged {
  ir::Graph graph;
  bool sure = false;  ///< more samples would not change the result
};
Merged merge(const std::vector<ir::Graph>& graphs, const Shapes& shapes,
             const std::vector<std::vector<int64_t>>& samples);
/// The same for one node.
ir::Node merge(const std::vector<const ir::Node*>& nodes, Solver& solver);

}  // namespace antegrad::symbolic
