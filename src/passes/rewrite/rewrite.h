#pragma once
#include <vector>

#include "ir/graph.h"

namespace antegrad::passes {

/// Collects the edits of a pass that visits the nodes in order, and applies them in one sweep.
class Rewrite {
 public:
  explicit Rewrite(ir::Graph& graph);

  /// Returns what a reader of `id` will read after the edits. A replacement must be defined before the value
  /// that it replaces.
  ir::ValueId resolve(ir::ValueId id) const;

  /// Graph outputs keep `from`; views of `from` become views of `to`.
  void replace_in_nodes(ir::ValueId from, ir::ValueId to);
  void replace_in_outputs(ir::ValueId from, ir::ValueId to);  ///< of the graph
  void erase_node(size_t node);

  /// Applies the edits and compacts the graph. Returns whether there were any.
  bool apply();

 private:
  ir::Graph& graph_;
  ir::PerValue<ir::ValueId> in_nodes_, in_outputs_;
  std::vector<bool> erased_;
  bool changed_ = false;
};

/// The node that defines each value; invalid for inputs and unused values.
ir::PerValue<ir::NodeId> definitions(const ir::Graph& graph);

/// The number of reads of each value by nodes, not counting graph outputs.
ir::PerValue<int32_t> reads_by_nodes(const ir::Graph& graph);

/// Whether the value is read by a functional node that writes to copies. Such a node gets one copy for each
/// occurrence of the written value among its arguments, so two of its arguments must not become the same
/// value.
ir::PerValue<bool> read_by_writers(const ir::Graph& graph);

/// Only in such graphs, whose nodes write to no memory of others, may a pass ignore the order of writes.
inline bool is_functional(const ir::Graph& graph) { return graph.stage != ir::Stage::Traced; }

/// Whether the node is a tensor made from a C++ number, which takes part differently in LibTorch's type
/// promotion.
bool is_wrapped_number(const ir::Node& node);

}  // namespace antegrad::passes
