#pragma once
#include <cstdint>
#include <limits>

#include "antegrad/options.h"
#include "ir/graph.h"
#include "partition/classify.h"

namespace antegrad::partition {

/// Which nodes of the forward pass a plan may recompute.
enum class Level {
  Views,  ///< those that cost nothing
  Cheap,  ///< all except expensive ones
  All,    ///< all that can be recomputed
};

/// The limits of a plan, besides those of the graph itself.
struct Limits {
  Level level = Level::Cheap;
  ir::PerNode<bool> allowed;  ///< expensive nodes that may be recomputed nevertheless; empty for none
  ir::PerValue<Keep> keep;    ///< from scope rules and the user's policy; empty means Auto for all
};

/// Costs, in 1/64 of the cost of keeping a byte; docs/partition.md explains how they were chosen.
struct Weights {
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  struct OfValue {
    int64_t save = 0;        ///< kNever if it cannot be saved
    bool must_save = false;  ///< saved if the backward pass reads it, and never recomputed
  };
  struct OfNode {
    int64_t recompute = 0;  ///< cost of (re)computing it in the backward pass
    bool must_run = false;  ///< it must run in the backward pass
  };
  ir::PerValue<OfValue> values;
  ir::PerNode<OfNode> nodes;
};

Weights weigh(const ir::Graph& joint, const Classes& classes, const Limits& limits);

/// Whether the node is too expensive for MinCut to recompute, however much memory that saves.
bool is_expensive(const ir::Node& node);

/// Whether a policy may recompute the node at all.
bool can_recompute(const ir::Node& node, const NodeClass& node_class);

}  // namespace antegrad::partition
