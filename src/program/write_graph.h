#pragma once
#include <ATen/core/Tensor.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "program/graph_builder.h"

namespace antegrad::program {

/// An exported graph (compiler/api/export_graph.h) in torch.export's form.
struct WrittenGraph {
  Json graph;
  /// Its inputs in order, as torch.export has them: parameters and buffers, constants, arguments.
  struct Place {
    bool constant = false;
    size_t index = 0;  ///< in `constants`, or among the inputs of the exported graph
  };
  std::vector<Place> order;
  /// Names of values, per input and output of the exported graph; nothing where it is undefined.
  std::vector<std::optional<std::string>> inputs, outputs;
  std::vector<WrittenConstant> constants;
};

/// Writes a graph without tangents and gradients. The name of an input is that of its value. The new value of
/// an input is a value of its own, which no other output is. Ops that write in place are given copies, as in
/// the exported graph. Throws Error(UnsupportedOp) for what torch.export's files cannot express.
WrittenGraph write_graph(const ir::Graph& graph);

}  // namespace antegrad::program
