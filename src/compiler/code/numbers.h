#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "util/result.h"

namespace antegrad::compiler {

/// A literal of a captured graph.
struct NumberPlace {
  uint32_t node = 0;
  uint32_t arg = 0;      ///< counts positional arguments, then attributes
  int32_t element = -1;  ///< in a list, or -1
};

/// The literals of a captured graph that are not the same in all calls, because they depend on numbers that
/// are arguments. Each is a symbol, which comes after the graph's symbols for sizes. Nobody knows how the
/// function computes them: their values for a call are read off the graph that is captured for it.
struct NumberSymbols {
  std::vector<NumberPlace> places;  ///< per symbol: one of the literals that it stands for

  /// Returns the values of these symbols in a captured graph; fails when it has other ops there.
  Result<std::vector<int64_t>> values_in(const ir::Graph& graph, const ir::Graph& over_symbols) const;
};

/// A graph over symbols for sizes, then for numbers.
struct NumberedGraph {
  ir::Graph graph;
  NumberSymbols numbers;
};

/// Finds the literals in which two captures of a function differ. `graph` is over symbols for sizes, `now` is
/// the same at some sizes, and `other` another capture there, with other numbers as arguments. In
/// `other_symbolic`, `other` over symbols, those from number `first_number` on stand for numbers already, and
/// stay such. Fails if the captures differ in anything else.
Result<NumberedGraph> generalize_numbers(ir::Graph graph, const ir::Graph& now, const ir::Graph& other,
                                         const ir::Graph& other_symbolic, int32_t first_number);

}  // namespace antegrad::compiler
