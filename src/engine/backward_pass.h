#pragma once
#include <torch/csrc/autograd/engine.h>

#include <memory>
#include <vector>

#include "engine/pass_graph.h"
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

  size_t nodes() const { return graph_.order.size(); }

 private:
  struct Step {
    uint32_t item = kNobody;           ///< run by itself; nobody:
    std::unique_ptr<Segment> segment;  ///< these
  };

  void plan();
  void make_segments(std::vector<std::vector<uint32_t>>&& segments);
  std::vector<std::vector<Slot>> find_incoming(const std::vector<std::vector<uint32_t>>& segments) const;
  void run_item(uint32_t item);
  void run_segment(Segment& segment, const RunSegment& run);
  void distribute(uint32_t first_link, variable_list&& gradients);
  void add(uint32_t slot, at::Tensor&& gradient);
  variable_list take(uint32_t item);
  void capture(const PassGraph::Item& item, const variable_list& incoming);

  const std::shared_ptr<Node> root_;
  const torch::autograd::GraphTask& task_;
  PassGraph graph_;
  std::vector<Step> steps_;
  Reused<at::Tensor> slots_;  ///< gradients that wait for their node
  variable_list asked_for_;
};

}  // namespace antegrad::engine
