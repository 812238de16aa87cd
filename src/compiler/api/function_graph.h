#pragma once
#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

#include "antegrad/export.h"
#include "ir/graph.h"

namespace antegrad::compiler {

/// What to export of a function.
struct ExportWanted {
  enum class Gradients {
    None,     ///< as it runs under torch::NoGradGuard
    IfAny,    ///< with its backward pass, if some result has one
    Required  ///< throws if no result has one
  };
  Gradients gradients = Gradients::None;
  bool dynamic = false;  ///< Options::dynamic_sizes become symbols; throws if one cannot
};

/// A function as an exported graph (export_graph.h).
struct FunctionGraph {
  ir::Graph graph;
  /// The tensors that it reached without receiving them, with their names, in graph order.
  std::vector<std::pair<std::string, at::Tensor>> lifted;
  bool gradients = false;  ///< whether the graph has a backward pass
};

/// Captures a function and makes an exported graph of it. Throws what captures throw,
/// Error(UnsupportedTensor) for effects that a graph of values cannot express, Error(InvalidArgument).
FunctionGraph graph_of_function(const Options& options, const ExportWanted& wanted, const Leaves& leaves,
                                const detail::RunForExport& run);

}  // namespace antegrad::compiler
