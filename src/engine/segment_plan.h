#pragma once
#include <torch/csrc/autograd/function.h>

#include <memory>
#include <span>
#include <vector>

#include "engine/pass_graph.h"
#include "engine/reused.h"

namespace antegrad::engine {

/// An input of a segment's node.
struct Slot {
  uint32_t slot = 0;   ///< number in the pass
  uint32_t place = 0;  ///< place of the node in the segment
  uint32_t input = 0;  ///< index among the node's inputs
};

/// A node after a segment whose tensor hooks are called inside the segment.
struct TrailingNode {
  uint32_t item = 0;
  uint32_t turn = 0;  ///< how many nodes of the segment run before it
};

/// What a segment consists of.
struct Part {
  std::vector<uint32_t> items;         ///< items of the graph, in the engine's order; all can be traced
  std::vector<Slot> incoming;          ///< their slots that receive gradients from elsewhere
  std::vector<Slot> asked_for;         ///< their slots whose gradients the caller asked for
  std::vector<TrailingNode> trailing;  ///< in the engine's order
};

/// Where an output of a segment's node goes.
struct Target {
  enum class Kind : uint8_t { None, Inside, Outside } kind = Kind::None;
  uint32_t index = 0;  ///< Inside: of a node in the segment; Outside: among SegmentPlan::outgoing
  uint32_t input = 0;  ///< Inside: of that node

  /// A number that differs for targets that differ.
  uint64_t bits() const { return uint64_t(kind) << 62 | uint64_t{input} << 32 | index; }
};

/// The nodes of a segment, and the way of gradients through them.
struct SegmentPlan {
  SegmentPlan(const PassGraph& graph, Part given);

  std::span<const Target> targets_of(size_t node) const {
    return std::span(targets).subspan(first_target[node], nodes[node]->num_outputs());
  }

  const Part part;
  RecycledVector<std::shared_ptr<Node>> nodes;  ///< of part.items
  std::vector<Slot> retained;                   ///< slots whose hooks retain gradients
  std::vector<uint32_t> outgoing;               ///< slots of the pass that gradients leave through
  struct Trailing {
    std::shared_ptr<Node> node;
    uint32_t slot = 0;
  };
  std::vector<Trailing> trailing;         ///< of part.trailing
  RecycledVector<Target> targets;         ///< per node, per output
  RecycledVector<uint32_t> first_target;  ///< per node

 private:
  void find_targets(const PassGraph& graph);
};

}  // namespace antegrad::engine
