#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace antegrad::ir {

/// The op of a node that runs a graph, its argument, on a list of values, one per input of that graph. The
/// node's outputs are those of the graph, all of them defined; none is on the memory of an input, and those
/// that share memory follow the first of them on it, which is their base.
constexpr std::string_view kCall = "antegrad.call";
/// Attribute of a call in the backward pass: positions of arguments that eager's backward pass does not read.
inline constexpr const char* kExtra = "extra";

Node call_node(GraphPtr graph, const std::vector<ValueId>& arguments);
/// The graph that the node calls; null for any other node.
const Graph* called(const Node& node);
/// The values that a call passes.
std::vector<ValueId> arguments_of(const Node& call);
/// Calls use(value) for what eager's backward pass reads of what the node reads, with copies that it writes.
void for_each_eager_read(const Node& node, const std::function<void(ValueId)>& use);
bool has_calls(const Graph& graph);

/// Puts the nodes of graphs in place of the nodes that call them.
class Inliner {
 public:
  /// Values of `graph` keep their ids. Nodes are added with add() and call(), in order.
  explicit Inliner(Graph& graph);
  /// Returns where the node is now.
  NodeId add(Node node);
  /// Adds the nodes of a graph, with the provenance of the call, whose outputs become values of these nodes.
  struct Called {
    PerValue<ValueId> values;  ///< of the graph, where they are now
    PerNode<NodeId> nodes;
  };
  Called call(const Node& call, const Graph& graph);
  /// Completes the graph.
  void finish();

 private:
  Graph& graph_;
  std::vector<Node> nodes_;
  PerValue<ValueId> moved_to_;  ///< outputs of calls that are on the memory of another value: that one
};

/// Returns the graph with all graphs that it calls in it. `which`: only those, and all that they call.
Graph inline_calls(const Graph& graph, const std::function<bool(const Node& call)>& which = {});

}  // namespace antegrad::ir
