#pragma once
#include <ATen/core/Tensor.h>

#include <string>
#include <string_view>
#include <vector>

#include "antegrad/export.h"
#include "antegrad/options.h"
#include "compiler/api/compiled_graph.h"
#include "ir/graph.h"

namespace antegrad::compiler {

/// An exported graph that can be called, with its signature. Thread-safe.
class RunnableGraph {
 public:
  /// LibTorch runs every op.
  explicit RunnableGraph(ir::Graph graph);
  /// Kernels are compiled for the whole graph, including both passes of a joint one. LibTorch runs every op
  /// of a graph that was captured with expanded arguments.
  RunnableGraph(ir::Graph graph, const Options& options);

  /// Reads and verifies the text of an exported graph. Throws Error(Parse) and Error(Verify).
  static ir::Graph parse(std::string_view text);

  const ir::Graph& graph() const { return graph_; }
  const GraphSignature& signature() const { return signature_; }

  /// Takes one tensor per input of the graph, in any layout; an undefined tangent stands for zeros. Results
  /// share no memory with inputs or with each other. Throws Error(InvalidArgument), with this stage, for a
  /// tensor that does not have the type of its input.
  std::vector<at::Tensor> run(std::vector<at::Tensor> inputs, const std::string& stage) const;

 private:
  ir::Graph graph_;
  GraphSignature signature_;
  CompiledGraph code_;
};

}  // namespace antegrad::compiler
