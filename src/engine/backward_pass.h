#pragma once
#include <torch/csrc/autograd/engine.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/pass_graph.h"
#include "engine/segment.h"

namespace antegrad::engine {

/// One backward() as the engine would run it: its nodes in the engine's order. Consecutive nodes that can be
/// traced form segments, each of which is one graph. The others (custom functions, nodes with unmarked hooks)
/// run one by one in their place, as in eager. Nodes that accumulate into leaves do not cut a segment: they
/// run after it, hooks included, and so do hooks that retain gradients. Gradients that were asked for are
/// results of a segment.
class BackwardPass {
 public:
  /// Has no side effects and unpacks no saved tensors. Throws when the pass cannot be run here, because of
  /// its devices and streams (PassGraph).
  BackwardPass(std::shared_ptr<Node> root, const torch::autograd::GraphTask& task, size_t outputs);

  /// Returns the gradients that were asked for. To be called from inside the engine, which then answers what
  /// nodes and hooks ask about the pass. `note` is told why nodes of a segment run one by one; one of them
  /// may then throw what eager throws (saved tensors that were released or written to).
  variable_list run(const RunSegment& run_segment, const std::function<void(const std::string&)>& note);

  size_t nodes() const { return graph_.order.size(); }
  /// Nodes that run between graphs, and why.
  const std::vector<std::pair<const Node*, const char*>>& cuts() const { return cuts_; }

 private:
  struct Step {
    uint32_t item = kNoNode;     ///< a node that runs by itself, or kNoNode
    std::unique_ptr<Part> part;  ///< the segment, when `item` is kNoNode
    bool retains = false;  ///< the item has run in a segment; only its hooks that retain gradients are called
  };
  struct Plan;

  void plan();
  void close(Plan& plan);
  template <class Call>
  void for_each_link(const Call& call) const;
  void find_incoming();
  void find_trailing();
  void run_item(uint32_t item);
  void retain(uint32_t item);
  void run_part(Part part, const RunSegment& run, const std::function<void(const std::string&)>& note);
  bool run_segment(Segment& segment, const RunSegment& run);
  void distribute(uint32_t first_link, variable_list&& gradients);
  void add(uint32_t slot, at::Tensor&& gradient);
  variable_list take(uint32_t item);
  /// Stores the gradients that were asked for at one input of an item, or at all.
  void capture(const PassGraph::Item& item, const variable_list& incoming,
               std::optional<uint32_t> input = {});

  const std::shared_ptr<Node> root_;
  const torch::autograd::GraphTask& task_;
  PassGraph graph_;
  std::vector<Step> steps_;
  RecycledVector<at::Tensor> slots_;                      ///< gradients waiting for their node
  std::unordered_map<uint32_t, variable_list> retained_;  ///< gradients of items that have run in segments
  std::unordered_set<uint32_t> hooks_done_;  ///< items whose tensor hooks were called in a segment
  std::vector<std::pair<const Node*, const char*>> cuts_;
  variable_list asked_for_;
};

}  // namespace antegrad::engine
