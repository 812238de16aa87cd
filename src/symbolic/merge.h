#pragma once
#include <string>
#include <vector>

#include "ir/graph.h"
#include "symbolic/solver.h"

namespace antegrad::symbolic {

/// Why several captures of a function are not one program over symbols.
struct Mismatch {
  std::string reason;
};

/// The graphs of one function at several sizes as one graph over symbols: equal structure, and every integer
/// and number that differs is an expression of the symbols. Throws Mismatch. The symbols of the result are
/// the caller's to set. Numbers that are solved are learnt by the solver.
ir::Graph merge(const std::vector<const ir::Graph*>& graphs, Solver& solver);
/// The same for one node.
ir::Node merge(const std::vector<const ir::Node*>& nodes, Solver& solver);

}  // namespace antegrad::symbolic
