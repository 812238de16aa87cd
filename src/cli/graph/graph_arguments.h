#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/graph/graph_options.h"
#include "ir/graph.h"

namespace antegrad::cli {

/// One --input argument. Exactly one of file and shape is set.
struct InputArgument {
  std::string name;  ///< "" for a file with several tensors
  std::string file;
  std::optional<std::vector<int64_t>> shape;
};

/// Throws UsageError.
std::vector<InputArgument> parse_inputs(const std::string& where, const std::vector<std::string>& texts);

/// Returns the name of an input on the command line and in tables: its own, else "input" and its position.
std::string name_of_input(const ir::Graph& graph, size_t place);
/// Returns the names of outputs: their own, else "output0", "mutated:x", "grad:x".
std::vector<std::string> names_of_outputs(const ir::Graph& graph);
/// Throws UsageError when there is no input of this name.
size_t input_called(const std::string& where, const ir::Graph& graph, const std::string& name);

/// Known shapes by position of the input.
using Shapes = std::map<size_t, std::vector<int64_t>>;

/// Returns a value for each symbol of the graph: from --size, else from the shapes, else the hint in the
/// graph. Throws UsageError for a symbol without a value, or with one out of its range.
std::vector<int64_t> symbol_values(const std::string& where, const ir::Graph& graph,
                                   const std::vector<std::string>& sizes, const Shapes& shapes);

}  // namespace antegrad::cli
