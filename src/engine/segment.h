#pragma once
#include <torch/csrc/autograd/function.h>

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "antegrad/tree.h"
#include "engine/collector.h"
#include "engine/flat_index.h"
#include "engine/hooks.h"
#include "engine/pass_graph.h"
#include "engine/reused.h"

namespace antegrad::engine {

/// Thrown when what a node has saved was released, was written to, or cannot be traced.
struct CannotBeUnpacked : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// An input of a segment's node.
struct Slot {
  uint32_t slot = 0;   ///< number in the pass
  uint32_t place = 0;  ///< place of the node in the segment
  uint32_t input = 0;  ///< index among the node's inputs
};

/// A node after a segment whose tensor hooks are called inside the segment.
struct End {
  uint32_t item = 0;
  uint32_t turn = 0;  ///< how many nodes of the segment run before it
};

/// What a segment consists of.
struct Part {
  std::vector<uint32_t> items;  ///< items of the graph, in the engine's order; all can be traced
  std::vector<Slot> incoming;   ///< their slots that receive gradients from elsewhere
  std::vector<Slot> asked_for;  ///< their slots whose gradients the caller asked for
  std::vector<End> ends;        ///< in the engine's order
};

/// Nodes of one backward pass that run as one graph, with their hooks.
class Segment {
 public:
  /// Unpacks what the nodes have saved. Throws CannotBeUnpacked where that fails.
  Segment(const PassGraph& graph, Part part);
  ~Segment();

  /// Equal for segments that differ only in tensors and numbers. Not to be called after release().
  std::string_view structure() const { return collector_->bytes(); }
  const std::vector<uint32_t>& items() const { return items_; }
  const std::vector<Slot>& incoming() const { return incoming_; }
  const std::vector<uint32_t>& outgoing() const { return outgoing_; }  ///< slots of the pass
  const std::vector<Slot>& asked_for() const { return asked_for_; }
  const std::vector<Slot>& retained() const { return retained_; }  ///< slots whose hooks retain gradients
  const std::vector<End>& ends() const { return ends_; }
  std::vector<Node*> hooked() const;                              ///< all nodes whose hooks are called inside
  const FailedHook& failed_hook() const { return failed_hook_; }  ///< of the last trace()

  /// Returns `gradients` of incoming(), then what nodes have saved: tensors, numbers, sizes (as those of
  /// tensors without memory, so that they can become symbols).
  Leaves leaves(variable_list gradients) const;
  /// Runs the nodes on stand-ins for the leaves' tensors. Returns the gradients for outgoing(), then those at
  /// asked_for() and retained().
  variable_list trace(const std::vector<at::Tensor>& stand_ins);
  /// Releases what was unpacked and, unless the graph is kept, what the nodes have saved. The segment cannot
  /// be traced afterwards.
  void release(bool keep_graph);

 private:
  class StandIns;
  struct Target {
    uint32_t index = 0;  ///< of a node in the segment, or of an outgoing slot
    uint32_t input = 0;  ///< of that node; kOutside: it is an outgoing slot; kNoNode: no target
  };

  void find_targets(const PassGraph& graph);
  void collect(const PassGraph& graph);
  void collect_node(uint32_t n, NodeKind kind, FlatIndex<uintptr_t>& known);
  void keep(at::Tensor tensor, FlatIndex<uintptr_t>& known);
  Collector::Ptr collect_for_tracing();
  void collect_sizes();
  void collect_hooks();
  variable_list trace_node(size_t n, variable_list incoming, const at::Tensor& number, Collector& collector,
                           torch::dynamo::autograd::TraceState& state, variable_list& seen);
  variable_list apply_node(size_t n, const variable_list& incoming, const at::Tensor& number,
                           Collector& collector, torch::dynamo::autograd::TraceState& state);
  void trace_end(size_t n, variable_list& outside);
  std::string name_of(size_t n) const;
  void distribute(size_t from, variable_list&& gradients, std::vector<variable_list>& inside,
                  variable_list& outside) const;

  const std::vector<uint32_t> items_;
  RecycledVector<std::shared_ptr<Node>> nodes_;
  std::vector<Slot> incoming_, asked_for_, retained_;
  std::vector<uint32_t> outgoing_;
  std::vector<End> ends_;
  std::vector<std::shared_ptr<Node>> end_nodes_;
  std::vector<uint32_t> end_slots_;
  FailedHook failed_hook_;
  RecycledVector<Target> targets_;         ///< per node, per output
  RecycledVector<uint32_t> first_target_;  ///< per node
  Collector::Ptr collector_;
  RecycledVector<at::Tensor> saved_;                    ///< tensors that nodes have saved, each once
  std::vector<std::pair<size_t, at::Tensor>> numbers_;  ///< by node, in order; see scalars.h
  std::vector<int64_t> sizes_;                          ///< sizes that nodes have saved, each once
  RecycledVector<uint32_t>
      size_uses_;  ///< per size that a node has saved: its index in sizes_, or kFixedSize
};

/// Runs a segment with these incoming gradients. Returns nothing when its nodes are to run one by one.
/// `let_go` is called when the segment is sure to run, and drops what it alone needs.
using RunSegment = std::function<std::optional<variable_list>(Segment&, variable_list&& gradients,
                                                              const std::function<void()>& let_go)>;

}  // namespace antegrad::engine
