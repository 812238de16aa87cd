#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/code/number_places.h"
#include "ir/graph.h"
#include "util/result.h"

namespace antegrad::compiler {

/// The literals of a captured graph that are not the same in all calls, because they depend on numbers that
/// are arguments. Each is a symbol, which comes after the graph's symbols for sizes. Nobody knows how the
/// function computes them: their values for a call are read off the graph that is captured for it.
struct NumberSymbols {
  std::vector<NumberPlace> places;  ///< per symbol: one of the literals that it stands for

  /// Returns the values of these symbols in a captured graph; fails when it has other ops there.
  Result<std::vector<int64_t>> values_in(const ir::Graph& graph, const ir::Graph& over_symbols) const;
};

/// A place where a graph over symbols computes with a symbol for a number.
struct NumberUse {
  const std::string* op = nullptr;  ///< in the graph
  int32_t symbol = 0;
  bool real = false;
  bool divides = false;               ///< throws for 0
  ir::DType dtype = ir::DType::Bool;  ///< of the result; Bool in constants, which hold any number
};
/// Finds those with symbols from number `first` on.
std::vector<NumberUse> uses_of_numbers(const ir::Graph& over_symbols, int32_t first);
/// Whether code for any number gives there what eager gives for this one.
bool is_usual(const NumberUse& use, int64_t value);

/// Graphs of one function that was captured with various numbers as arguments.
struct NumberSamples {
  std::vector<ir::Graph>& graphs;
  const std::vector<std::vector<int64_t>>& values;  ///< per graph: those of all symbols
  size_t first = 0;                                 ///< the symbols from here on stand for numbers
};
/// Makes a literal that differs from graph to graph the symbol that has its values in all of them. Returns
/// where each symbol for a number occurs then; nothing for one that has the same value in all graphs. Fails
/// when another one occurs nowhere.
Result<std::vector<std::optional<NumberPlace>>> mark_numbers(const NumberSamples& samples);
/// Returns the literal there, an integer or the bits of a double; nothing when the op is not the expected one
/// or the literal is of another kind.
std::optional<int64_t> number_at(const ir::Graph& graph, const ir::Graph& over_symbols,
                                 const NumberPlace& place);

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
