#pragma once
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/dynamo/compiled_autograd.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "antegrad/tree.h"

namespace antegrad::engine {

using torch::autograd::Node;
using torch::autograd::variable_list;

/// An input of a node, where gradients are summed.
struct Slot {
  std::shared_ptr<Node> node;
  uint32_t input = 0;
};

/// Whether it is the backward pass of a function that antegrad has compiled.
bool is_compiled(const Node& node);

/// Nodes of one backward pass that are run as one graph.
class Segment {
 public:
  /// `nodes`: in the order of the engine; all can be traced. `incoming`: their slots that get gradients from
  /// elsewhere. `executes`: whether gradients for a node are needed at all. Unpacks what the nodes have
  /// saved.
  Segment(std::vector<std::shared_ptr<Node>> nodes, std::vector<Slot> incoming,
          const std::function<bool(const Node*)>& executes);

  /// Equal for segments that differ in tensors and numbers only.
  const std::string& structure() const { return structure_; }
  const std::vector<std::shared_ptr<Node>>& nodes() const { return nodes_; }
  const std::vector<Slot>& incoming() const { return incoming_; }
  const std::vector<Slot>& outgoing() const { return outgoing_; }

  /// `gradients` of incoming(), and what nodes have saved: tensors, numbers, sizes (as those of tensors
  /// without memory, so that they can become symbols).
  Leaves leaves(variable_list gradients) const;
  /// Runs the nodes on tensors that stand in for the leaves'; gives what goes to outgoing().
  variable_list trace(const std::vector<at::Tensor>& stand_ins);
  /// Lets go of what was unpacked, and of what the nodes have saved unless the graph is kept. The segment can
  /// not be traced any more.
  void release(bool keep_graph);

 private:
  class StandIns;
  struct Target {
    bool inside = false;
    size_t index = 0;  ///< of a node, or of an outgoing slot
    uint32_t input = 0;
  };

  void find_targets(const std::function<bool(const Node*)>& executes);
  void collect();
  void collect_sizes();
  void collect_saved(size_t n, torch::dynamo::autograd::CompiledNodeArgs& arguments);
  variable_list trace_node(size_t n, const variable_list& incoming, const at::Tensor& number,
                           torch::dynamo::autograd::TraceState& state);
  void distribute(size_t from, variable_list&& gradients, std::vector<variable_list>& inside,
                  variable_list& outside) const;

  std::vector<std::shared_ptr<Node>> nodes_;
  std::vector<Slot> incoming_, outgoing_;
  std::vector<std::vector<Target>> targets_;  ///< per node, per output; input -1: nobody
  std::unique_ptr<torch::dynamo::autograd::AutogradCompilerCall> compiler_;
  std::vector<torch::dynamo::autograd::NodeCall*> calls_;
  std::vector<std::pair<size_t, at::Tensor>> numbers_;  ///< of nodes by index, in order; see scalars.h
  std::vector<int64_t> sizes_;                          ///< that nodes have saved, each once
  std::vector<size_t> size_uses_;  ///< per size that a node has saved: which of them; or: it is what it is
  std::string structure_;
};

/// Runs a segment with these gradients coming in; nothing: its nodes are to be run one by one. `let_go`:
/// called when it is sure to run, to drop what it alone needs.
using RunSegment = std::function<std::optional<variable_list>(Segment&, variable_list&& gradients,
                                                              const std::function<void()>& let_go)>;

}  // namespace antegrad::engine
