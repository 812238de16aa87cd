#pragma once
#include <cstdint>
#include <limits>

#include "antegrad/options.h"
#include "ir/graph.h"
#include "partition/classify.h"

namespace antegrad::partition {

/// Which nodes of the forward pass a plan may compute again.
enum class Level {
  Views,  ///< those that cost nothing
  Cheap,  ///< no dear ones
  All,    ///< all that can be
};

/// What limits a plan, besides what the graph itself says.
struct Limits {
  Level level = Level::Cheap;
  ir::PerNode<bool> allowed;  ///< dear, and may be computed again nevertheless; empty: none
  ir::PerValue<Keep> keep;    ///< from rules and the user's policy; empty: all Auto
};

/// Costs, in 1/64 of the cost of keeping a byte; docs/partition.md says how they were chosen.
struct Weights {
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  struct OfValue {
    int64_t save = 0;        ///< kNever: it cannot be saved
    bool must_save = false;  ///< saved if the backward pass reads it, and never computed again
  };
  struct OfNode {
    int64_t recompute = 0;  ///< computing it (again) in the backward pass
    bool must_run = false;  ///< in the backward pass
  };
  ir::PerValue<OfValue> values;
  ir::PerNode<OfNode> nodes;
};

Weights weigh(const ir::Graph& joint, const Classes& classes, const Limits& limits);

/// Whether MinCut takes it for too dear to compute again, whatever it saves.
bool is_dear(const ir::Node& node);

/// Whether a policy may have it computed again at all.
bool can_recompute(const ir::Node& node, const NodeClass& node_class);

}  // namespace antegrad::partition
