#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/graph.h"
#include "schedule/kernel.h"
#include "schedule/target.h"

namespace antegrad::schedule {

/// Runs a kernel on the memory of values. The pointer to a buffer is that of the value's first element (its
/// type's offset included), and the kernel's addresses are relative to it.
struct RunKernel {
  int32_t kernel = 0;                ///< index in Program::kernels
  std::vector<ir::ValueId> buffers;  ///< as Kernel::buffers without scratch; each value owns its memory
  ir::Dim units;
  int64_t grain = 1;  ///< the fewest units for one task of a thread
};
/// Runs a node of the graph by LibTorch.
struct RunNode {
  ir::NodeId node;
};
using Step = std::variant<RunKernel, RunNode>;

/// What became of a group of nodes, for people.
struct Decision {
  std::vector<int32_t> nodes;
  std::string what;  ///< "kernel k0_add: 12 units, 2 sections" or "LibTorch"
  std::string why;   ///< why LibTorch runs the node; empty for kernels
};

/// A forward or backward graph as kernels and extern calls, in order of execution.
struct Program {
  ir::Graph graph;              ///< the given graph with values added for partial results
  std::vector<Kernel> kernels;  ///< distinct apart from their names
  std::vector<Step> steps;      ///< a step reads only inputs and results of earlier steps
  std::vector<Decision> decisions;

  const Kernel& kernel_of(const RunKernel& step) const { return kernels[step.kernel]; }
  const ir::Node& node_of(const RunNode& step) const { return graph.node(step.node); }
};

/// How a graph is to be scheduled.
struct Settings {
  bool fuse = true;  ///< false for one kernel per op
  Target target = cpu_target();
  std::optional<Target> cuda = {};  ///< for tensors on CUDA devices; without it LibTorch computes them
  /// Whether code can be generated for an expression over operands of a type.
  std::function<bool(std::string_view expression, ir::DType operand)> supports;

  /// Returns the target for tensors on a device; null if LibTorch computes them.
  const Target* target_for(const ir::Device& device) const;
};

Program schedule(const ir::Graph& graph, const Settings& settings);

}  // namespace antegrad::schedule
