#pragma once
#include <torch/csrc/autograd/engine.h>

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/segment.h"

namespace antegrad::engine {

/// One backward() as the engine would run it: its nodes in the engine's order. Runs of nodes that can be
/// traced are segments, each one graph. The others (custom functions, compiled functions, nodes with hooks)
/// run where they stand, as in eager. Nodes that accumulate into leaves, and those whose incoming gradients
/// are asked for, need not cut a segment: they run after it.
class BackwardPass {
 public:
  /// Changes nothing. Throws when it cannot be run here: saved tensors that were written to or released (what
  /// the engine throws when it gets there), other devices than the CPU.
  BackwardPass(std::shared_ptr<Node> root, const torch::autograd::GraphTask& task, size_t outputs);

  /// Gives the gradients that were asked for. To be called from inside of the engine, so that what nodes and
  /// hooks ask it about the pass has answers.
  variable_list run(const RunSegment& run_segment);

  size_t nodes() const { return nodes_; }

 private:
  struct Step {
    std::shared_ptr<Node> node;        ///< run by itself; null:
    std::unique_ptr<Segment> segment;  ///< these
  };

  void plan(const std::vector<std::shared_ptr<Node>>& order);
  bool should_execute(const Node* node) const;
  bool is_needed(const Node* node) const;
  void run_node(const std::shared_ptr<Node>& node);
  void run_segment(Segment& segment, const RunSegment& run);
  void distribute(const Node& node, variable_list&& gradients);
  void add(const Slot& slot, at::Tensor&& gradient);
  variable_list take(const Node& node);
  void capture(const Node* node, const variable_list& incoming);

  const std::shared_ptr<Node> root_;
  const torch::autograd::GraphTask& task_;
  std::vector<Step> steps_;
  size_t nodes_ = 0;
  std::unordered_map<const Node*, variable_list> buffers_;  ///< gradients that wait for their node
  variable_list asked_for_;
};

}  // namespace antegrad::engine
