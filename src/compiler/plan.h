#pragma once
#include <optional>

#include "compiler/captured.h"
#include "compiler/function_key.h"
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

/// `graph`: functional or joint, before any pass.
Plan make_plan(const CaptureSettings& settings, const ir::Graph& graph, const CaptureFacts& facts);

void write(ByteWriter& out, const Plan& plan);
Plan read_plan(ByteReader& in);  ///< throws Error(Io) for bytes that are no plan

}  // namespace antegrad::compiler
