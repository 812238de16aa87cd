#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/graph/graph_options.h"
#include "ir/graph.h"

namespace antegrad::cli {

/// One --input. Exactly one of file and shape is set.
struct InputArgument {
  std::string name;  ///< "": a file with several
  std::string file;
  std::optional<std::vector<int64_t>> shape;
};

/// Throws UsageError.
std::vector<InputArgument> parse_inputs(const std::string& where, const std::vector<std::string>& texts);

/// The name of an input in the command line and in tables: its own, else "input" and its place.
std::string name_of_input(const ir::Graph& graph, size_t place);
/// Of an output: its own, else "output0", "mutated:x", "grad:x".
std::vector<std::string> names_of_outputs(const ir::Graph& graph);
/// Throws UsageError when no input is called that.
size_t input_called(const std::string& where, const ir::Graph& graph, const std::string& name);

/// Shapes by place of the input, from wherever they are known.
using Shapes = std::map<size_t, std::vector<int64_t>>;

/// A value for each symbol of the graph: from --size, else from the shapes, else the hint of the graph.
/// Throws UsageError where there is none, or one out of its range.
std::vector<int64_t> symbol_values(const std::string& where, const ir::Graph& graph,
                                   const std::vector<std::string>& sizes, const Shapes& shapes);

}  // namespace antegrad::cli
