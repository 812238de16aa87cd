#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "compiler/plan/lowering.h"
#include "partition/partition.h"
#include "util/byte_stream.h"

namespace antegrad::compiler {

/// How a captured graph becomes code.
struct PlanSettings {
  const Options& options;
  bool effects = true;  ///< false to omit what the function does to its inputs
  std::shared_ptr<const Lowering> lowering;
};

/// What is known about a captured function besides its graph.
struct CaptureFacts {
  bool differentiable = false;
  bool lazy_bits = false;                     ///< as has_lazy_bits()
  std::vector<std::vector<bool>> reached_by;  ///< as in BackwardFacts
};

/// What is decided about a captured function before code is generated: plain data, the same for all its
/// sizes.
struct Plan {
  ir::Graph graph;                                ///< after the passes
  ir::Graph forward;                              ///< what a call runs when there is no partition
  std::optional<partition::Partition> partition;  ///< nothing when there is no backward pass
  bool has_kernels = false;                       ///< false when LibTorch runs every op
  /// With Options::freeze: what is run once. Its outputs are the last inputs of forward_graph(). Not part of
  /// packages.
  std::optional<ir::Graph> frozen;

  const ir::Graph& forward_graph() const { return partition ? partition->forward : forward; }
};

/// A captured graph after the passes.
struct Optimised {
  ir::Graph graph;           ///< after the pipeline `functional`
  ir::Graph before_fusion;   ///< also after the pipeline `before_fusion`, if there are kernels
  bool has_kernels = false;  ///< as in Plan
};

/// Runs the passes for a captured graph. `effects` as in PlanSettings; `rng` as in Options, passed separately
/// because exports override it.
void run_passes(const Options& options, bool effects, bool lazy_bits, Rng rng, ir::Graph& graph);

/// Runs the passes on a captured functional or joint graph.
Optimised optimise(const PlanSettings& settings, const ir::Graph& graph, const CaptureFacts& facts);
/// Splits the graph into what a call runs and what its backward pass runs.
Plan divide(const PlanSettings& settings, Optimised optimised, const CaptureFacts& facts);
/// Takes out of the forward graph what depends on captured tensors alone, for Options::freeze. `packs`:
/// whether weights of products get the layout of a library.
void freeze(Plan& plan, bool packs);
/// optimise() and divide().
Plan make_plan(const PlanSettings& settings, const ir::Graph& graph, const CaptureFacts& facts);

/// Without what is frozen.
void write(ByteWriter& out, const Plan& plan);
Plan read_plan(ByteReader& in);  ///< throws Error(Io) for bytes that do not encode a plan

}  // namespace antegrad::compiler
