#pragma once
#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

#include "cli/graph/graph_arguments.h"
#include "ir/graph.h"

namespace antegrad::cli {

/// The inputs of a graph, from the command line or random, and the values of its symbols.
struct GraphInputs {
  std::vector<int64_t> symbols;
  std::vector<at::Tensor> tensors;  ///< one per input
};
/// Seeds LibTorch's generator. Throws UsageError for arguments that do not fit the graph, Error(Io) for
/// files.
GraphInputs make_inputs(const std::string& where, const ir::Graph& graph, const GraphOptions& options);

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

/// Loads a tensor, a list or a dictionary from a file; only those of a dictionary have names.
NamedTensors load_tensors(const std::string& where, const std::string& file);
/// Saves a dictionary that torch.load and load_tensors() can read; undefined tensors are omitted.
void save_tensors(const std::string& where, const std::string& file, const NamedTensors& tensors);

}  // namespace antegrad::cli
