#pragma once
#include "engine/hooks.h"
#include "engine/segment_state.h"

namespace antegrad::engine {

/// Runs the nodes of a segment as the engine does, over stand-ins for its leaves, to be captured.
class SegmentTracer {
 public:
  /// `failed_hook` is set when a hook throws.
  SegmentTracer(SegmentPlan& plan, const SegmentState& state, FailedHook& failed_hook)
      : plan_(plan), state_(state), failed_hook_(failed_hook) {}

  /// As Segment::trace().
  variable_list trace(const std::vector<at::Tensor>& stand_ins);

 private:
  class StandIns;

  torch::dynamo::autograd::TraceState stand_in_sizes(const std::vector<at::Tensor>& stand_ins);
  variable_list trace_node(size_t n, variable_list incoming, const at::Tensor& number,
                           torch::dynamo::autograd::TraceState& state, variable_list& seen);
  variable_list apply_node(size_t n, const variable_list& incoming, const at::Tensor& number,
                           torch::dynamo::autograd::TraceState& state);
  void trace_trailing(size_t n, variable_list& outside);
  void distribute(size_t from, variable_list&& gradients, std::vector<variable_list>& inside,
                  variable_list& outside) const;
  std::string name_of(size_t n) const;

  SegmentPlan& plan_;
  const SegmentState& state_;
  FailedHook& failed_hook_;
  Collector::Ptr collector_;
};

}  // namespace antegrad::engine
