#pragma once
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/segment_tracer.h"

namespace antegrad::engine {

/// Nodes of one backward pass that run as one graph, with their hooks.
class Segment {
 public:
  /// Unpacks what the nodes have saved. Throws CannotBeUnpacked where that fails.
  Segment(const PassGraph& graph, Part part) : plan_(graph, std::move(part)), state_(graph, plan_) {}

  const SegmentPlan& plan() const { return plan_; }
  /// As SegmentState::structure().
  std::string_view structure() const { return state_.structure(); }
  std::vector<Node*> hooked() const;                              ///< all nodes whose hooks are called inside
  const FailedHook& failed_hook() const { return failed_hook_; }  ///< of the last trace()

  /// As SegmentState::leaves(), with gradients of the incoming slots.
  Leaves leaves(variable_list gradients) const { return state_.leaves(std::move(gradients)); }
  /// Runs the nodes on stand-ins for the leaves' tensors. Returns the gradients of the outgoing slots, then
  /// those that are asked for and retained.
  variable_list trace(const std::vector<at::Tensor>& stand_ins) {
    return SegmentTracer(plan_, state_, failed_hook_).trace(stand_ins);
  }
  /// Releases what was unpacked and, unless the graph is kept, what the nodes have saved. The segment cannot
  /// be traced afterwards.
  void release(bool keep_graph);

 private:
  SegmentPlan plan_;
  SegmentState state_;
  FailedHook failed_hook_;
};

/// Runs a segment with these incoming gradients. Returns nothing when its nodes are to run one by one.
/// `let_go` is called when the segment is sure to run, and drops what it alone needs.
using RunSegment = std::function<std::optional<variable_list>(Segment&, variable_list&& gradients,
                                                              const std::function<void()>& let_go)>;

}  // namespace antegrad::engine
