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

/// One backward() as the engine would run it: its nodes in the engine's order. Runs of nodes that can be
/// traced are segments, each one graph. The others (custom functions, nodes with hooks that are not marked)
/// run where they stand, as in eager. Nodes that accumulate into leaves need not cut a segment: they run
/// after it, their hooks included; so is what is to be retained. What is asked for is a result of a segment.
class BackwardPass {
 public:
  /// Changes nothing, and unpacks nothing that was saved. Throws when it cannot be run here: other devices
  /// than the CPU.
  BackwardPass(std::shared_ptr<Node> root, const torch::autograd::GraphTask& task, size_t outputs);

  /// Gives the gradients that were asked for. To be called from inside of the engine, so that what nodes and
  /// hooks ask it about the pass has answers. `note` is told why nodes of a segment are run one by one; one
  /// of them may throw then what eager throws (saved tensors that were released or written to).
  variable_list run(const RunSegment& run_segment, const std::function<void(const std::string&)>& note);

  size_t nodes() const { return graph_.order.size(); }
  /// Nodes that run between graphs, and why.
  const std::vector<std::pair<const Node*, const char*>>& cuts() const { return cuts_; }

 private:
  struct Step {
    uint32_t item = kNobody;     ///< run by itself; nobody:
    std::unique_ptr<Part> part;  ///< a segment
    bool retains = false;        ///< the item has run in a segment, and its gradients are to be retained
  };
  struct Plan;

  void plan();
  void close(Plan& plan);
  template <class Call>
  void for_each_link(const Call& call) const;
  void find_incoming();
  void find_ends();
  void run_item(uint32_t item);
  void retain(uint32_t item);
  void run_part(Part part, const RunSegment& run, const std::function<void(const std::string&)>& note);
  bool run_segment(Segment& segment, const RunSegment& run);
  void distribute(uint32_t first_link, variable_list&& gradients);
  void add(uint32_t slot, at::Tensor&& gradient);
  variable_list take(uint32_t item);
  /// Keeps what is asked for, of one input or of all.
  void capture(const PassGraph::Item& item, const variable_list& incoming,
               std::optional<uint32_t> input = {});

  const std::shared_ptr<Node> root_;
  const torch::autograd::GraphTask& task_;
  PassGraph graph_;
  std::vector<Step> steps_;
  Reused<at::Tensor> slots_;                              ///< gradients that wait for their node
  std::unordered_map<uint32_t, variable_list> retained_;  ///< of items that have run in segments
  std::unordered_set<uint32_t> hooks_done_;  ///< items whose tensor hooks were called in a segment
  std::vector<std::pair<const Node*, const char*>> cuts_;
  variable_list asked_for_;
};

}  // namespace antegrad::engine
