#pragma once
#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "antegrad/options.h"
#include "compiler/code/lowering.h"
#include "compiler/code/plan.h"
#include "ir/graph.h"

namespace antegrad::cli {

/// A graph of text, compiled for one value of each symbol. Keeps no tensors.
class CompiledGraph {
 public:
  /// As the library compiles a captured function with these options; a joint graph is split.
  static CompiledGraph compiled(const ir::Graph& graph, const Options& options,
                                const std::vector<int64_t>& symbols);
  /// Every node by LibTorch, no pass before it; the backward pass of a joint graph reads what it needs, as
  /// eager's does.
  static CompiledGraph as_written(const ir::Graph& graph, const std::vector<int64_t>& symbols);

  /// One tensor per output of the graph, in its order. `inputs`: of the graph, in its order.
  std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs) const;

  struct Half {
    size_t kernels = 0;  ///< runs of kernels
    size_t calls = 0;    ///< of LibTorch
    int64_t arena_bytes = 0;
  };
  Half forward() const { return half(*forward_code_, *forward_); }
  bool is_split() const { return plan_.partition.has_value(); }
  Half backward() const { return half(*backward_code_, *backward_); }  ///< only when split
  int64_t saved_bytes() const { return is_split() ? plan_.partition->saved_bytes : 0; }

 private:
  CompiledGraph(const ir::Graph& graph, compiler::Plan plan, const compiler::Lowering* lowering,
                const std::vector<int64_t>& symbols);
  static Half half(const compiler::Lowered& code, const runtime::Executable& executable);
  void run_halves(const std::vector<at::Tensor>& inputs, std::vector<at::Tensor>& outputs) const;

  compiler::Plan plan_;
  std::vector<ir::OutputRole> roles_;  ///< of the outputs
  std::shared_ptr<const compiler::Lowered> forward_code_, backward_code_;
  std::shared_ptr<const runtime::Executable> forward_, backward_;
  bool adds_state_ = false;  ///< of random numbers: an input that the graph as given does not have
};

/// A graph that was traced and writes to nothing is a functional one. Throws Error(Verify) for one that is
/// not.
ir::Graph runnable(ir::Graph graph);

}  // namespace antegrad::cli
