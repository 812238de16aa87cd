#pragma once
#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "antegrad/options.h"
#include "compiler/plan/lowering.h"
#include "compiler/plan/plan.h"
#include "ir/graph.h"
#include "runtime/executable.h"

namespace antegrad::compiler {

/// A graph from text, ready to run for given values of its symbols. Holds no tensors. Exported graphs, the C
/// API and the command all run graphs this way.
class CompiledGraph {
 public:
  /// Compiles as the library does for a captured function with these options; a joint graph is split.
  static CompiledGraph compiled(const ir::Graph& graph, const Options& options,
                                const std::vector<int64_t>& symbols);
  /// LibTorch runs every node, without any passes; the backward half of a joint graph gets what it reads
  /// saved, as in eager mode.
  static CompiledGraph as_written(const ir::Graph& graph, const std::vector<int64_t>& symbols);

  /// As the library compiles an exported graph: kernels for the whole graph as it is, including both passes
  /// of a joint one. LibTorch runs every op of a graph that was captured with expanded arguments.
  static CompiledGraph whole(const ir::Graph& graph, const Options& options);
  /// The same, but LibTorch runs every op.
  static CompiledGraph whole_as_written(const ir::Graph& graph);

  /// Returns one tensor per output of the graph, in order. `inputs` are the graph's, in order.
  std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs) const;

  struct Half {
    size_t kernels = 0;  ///< kernel launches
    size_t calls = 0;    ///< calls of LibTorch
    int64_t arena_bytes = 0;
  };
  Half forward() const { return half(*forward_code_, *forward_); }
  bool is_split() const { return plan_.partition.has_value(); }
  Half backward() const { return half(*backward_code_, *backward_); }  ///< only when split
  int64_t saved_bytes() const { return is_split() ? plan_.partition->saved_bytes : 0; }

 private:
  CompiledGraph(const ir::Graph& graph, Plan plan, const Lowering* lowering,
                const std::vector<int64_t>& symbols);
  static Half half(const Lowered& code, const runtime::Executable& executable);
  void run_halves(const std::vector<at::Tensor>& inputs, std::vector<at::Tensor>& outputs) const;

  Plan plan_;
  std::vector<ir::OutputRole> roles_;  ///< of the graph's outputs
  std::shared_ptr<const Lowered> forward_code_, backward_code_;
  std::shared_ptr<const runtime::Executable> forward_, backward_;
  bool adds_state_ = false;  ///< whether passes added a generator state as an input
};

/// Turns a traced graph without writes into a functional or joint one. Throws Error(Verify) for a traced
/// graph that writes.
ir::Graph runnable(ir::Graph graph);

}  // namespace antegrad::compiler
