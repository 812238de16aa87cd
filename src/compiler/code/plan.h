#pragma once
#include <optional>

#include "compiler/cache/function_key.h"
#include "compiler/code/captured.h"
#include "partition/partition.h"
#include "util/byte_stream.h"

namespace antegrad::compiler {

/// What is decided of a captured function before code is made: plain data, the same for all its sizes.
struct Plan {
  ir::Graph graph;                                ///< after the passes
  ir::Graph forward;                              ///< what a call runs, unless there is a partition
  std::optional<partition::Partition> partition;  ///< nothing: no backward pass
  bool has_kernels = false;                       ///< else every op is run by LibTorch

  const ir::Graph& forward_graph() const { return partition ? partition->forward : forward; }
};

/// A captured graph after the passes.
struct Optimised {
  ir::Graph graph;           ///< after the pipeline `functional`
  ir::Graph before_fusion;   ///< after the pipeline of that name too, where there are kernels
  bool has_kernels = false;  ///< as in Plan
};

/// The passes. `graph`: functional or joint, as captured.
Optimised optimise(const CaptureSettings& settings, const ir::Graph& graph, const CaptureFacts& facts);
/// What of it a call runs, and what its backward pass runs.
Plan divide(const CaptureSettings& settings, Optimised optimised, const CaptureFacts& facts);
/// Both, one after the other.
Plan make_plan(const CaptureSettings& settings, const ir::Graph& graph, const CaptureFacts& facts);

void write(ByteWriter& out, const Plan& plan);
Plan read_plan(ByteReader& in);  ///< throws Error(Io) for bytes that are no plan

}  // namespace antegrad::compiler
