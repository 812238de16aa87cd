#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/graph.h"
#include "schedule/kernel.h"

namespace antegrad::schedule {

/// Runs a kernel on memory of values. The memory of a value begins at its first element (its type's offset
/// is taken into account by the addresses of the kernel: they are relative to there).
struct RunKernel {
  int32_t kernel = 0;                ///< index in Program::kernels
  std::vector<ir::ValueId> buffers;  ///< as Kernel::buffers without scratch; each owns its memory
  ir::Dim units;
  int64_t grain = 1;  ///< a task of a thread takes at least so many units
};
/// Lets LibTorch run a node of the graph.
struct RunNode {
  ir::NodeId node;
};
using Step = std::variant<RunKernel, RunNode>;

/// A group of fused nodes, or a node that LibTorch runs, for people.
struct Decision {
  std::vector<int32_t> nodes;
  std::string what;  ///< "kernel k_… : rows, 3 sections", "LibTorch"
  std::string why;   ///< why it is not fused with its neighbours, or not compiled
};

/// A pass of a function as kernels and calls of LibTorch, in order of execution.
struct Program {
  ir::Graph graph;              ///< as it was given, with values for partial results added
  std::vector<Kernel> kernels;  ///< no two are equal, names aside
  std::vector<Step> steps;      ///< every value that a step reads is an input, or made by an earlier step
  std::vector<Decision> decisions;

  const Kernel& kernel_of(const RunKernel& step) const { return kernels[step.kernel]; }
  const ir::Node& node_of(const RunNode& step) const { return graph.node(step.node); }
};

/// What limits fusion.
struct Settings {
  bool fuse = true;  ///< false: a kernel per op
  /// Whether code can be made for an expression over operands of a type.
  std::function<bool(std::string_view expression, ir::DType operand)> supports;
};

Program schedule(const ir::Graph& graph, const Settings& settings);

}  // namespace antegrad::schedule
