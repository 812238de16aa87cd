#pragma once
#include <torch/csrc/autograd/engine.h>

#include <memory>
#include <optional>
#include <vector>

#include "engine/node_kind.h"
#include "engine/reused.h"

namespace antegrad::engine {

using torch::autograd::Node;
using torch::autograd::variable_list;

constexpr uint32_t kNoNode = ~uint32_t{0};

/// The nodes that one backward() runs, by number; their edges; their order. Every input of a node is a
/// *slot*, where gradients are summed; slots are numbered throughout the pass. Nodes are borrowed: the root
/// keeps them alive.
struct PassGraph {
  using Captures = std::vector<torch::autograd::GraphTask::ExecInfo::Capture>;
  struct Item {
    const std::shared_ptr<Node>* node = nullptr;  ///< the pointer of an edge that leads to it
    NodeKind kind = NodeKind::Other;
    bool needed = true;                  ///< false when only its incoming gradients are asked for
    const Captures* captures = nullptr;  ///< gradients asked for at its inputs, or null
    uint32_t first_slot = 0;
    uint32_t first_link = 0;  ///< of its edges
    uint32_t waits = 0;       ///< edges that lead here, counted down while nodes are ordered
    uint32_t step = kNoNode;  ///< the segment that runs it, once planned, else kNoNode
    uint32_t place = 0;       ///< its place in that segment
  };
  struct Link {
    uint32_t item = kNoNode;  ///< kNoNode when nothing is to be sent
    uint32_t slot = 0;
  };

  /// Throws when the pass cannot be run here: with several CUDA devices, or streams other than the current
  /// one, or other devices.
  PassGraph(const Node& root, const torch::autograd::GraphTask& task);

  Node& node(uint32_t item) const { return **items[item].node; }

  RecycledVector<Item> items;
  RecycledVector<Link> links;      ///< of the root, then of the items
  RecycledVector<uint32_t> order;  ///< items in the order in which the engine would run them
  uint32_t slots = 0;
  std::optional<c10::Stream> stream;  ///< of the nodes on a CUDA device; nothing if there are none

 private:
  class Builder;
  void put_in_order(uint32_t root_links);
};

}  // namespace antegrad::engine
