#pragma once
#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

#include "cli/graph/graph_arguments.h"
#include "ir/graph.h"

namespace antegrad::cli {

/// The inputs of a graph, as the command line gives them or random, and the values of its symbols.
struct GraphInputs {
  std::vector<int64_t> symbols;
  std::vector<at::Tensor> tensors;  ///< one per input
};
/// Seeds LibTorch's generator. Throws UsageError for what does not fit the graph, Error(Io) for files.
GraphInputs make_inputs(const std::string& where, const ir::Graph& graph, const GraphOptions& options);

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

/// The tensors of a file: a tensor, a list, or a dictionary; names are empty but in the last.
NamedTensors load_tensors(const std::string& where, const std::string& file);
/// As a dictionary that torch.load and load_tensors() read; undefined tensors are left out.
void save_tensors(const std::string& where, const std::string& file, const NamedTensors& tensors);

}  // namespace antegrad::cli
