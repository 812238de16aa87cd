#pragma once
#include <vector>

#include "ir/graph.h"

namespace antegrad::passes {

/// Collects the edits of a pass that walks the nodes in order, and makes them in one sweep.
class Rewrite {
 public:
  explicit Rewrite(ir::Graph& graph);

  /// What a node that reads `id` will read. Replacements must be made of values defined before the replaced
  /// one.
  ir::ValueId resolve(ir::ValueId id) const;

  /// Graph outputs go on naming `from`; views of `from` become views of `to`.
  void replace_in_nodes(ir::ValueId from, ir::ValueId to);
  void replace_in_outputs(ir::ValueId from, ir::ValueId to);  ///< of the graph
  void erase_node(size_t node);

  /// Makes the edits and compacts the graph. Returns whether there were any.
  bool apply();

 private:
  ir::Graph& graph_;
  ir::PerValue<ir::ValueId> in_nodes_, in_outputs_;
  std::vector<bool> erased_;
  bool changed_ = false;
};

/// The node that defines each value; not valid for inputs and holes.
ir::PerValue<ir::NodeId> definitions(const ir::Graph& graph);

/// How many reads (by nodes, not by graph outputs) each value has.
ir::PerValue<int32_t> reads_by_nodes(const ir::Graph& graph);

/// Whether a node that writes to copies reads the value. Such a node gets one copy for every time that it
/// names the written value, so its arguments must not become equal: they stay as they are.
ir::PerValue<bool> read_by_writers(const ir::Graph& graph);

/// Only graphs whose nodes write to no one else's memory may be rewritten without looking at the order of
/// writes.
inline bool is_functional(const ir::Graph& graph) { return graph.stage != ir::Stage::Traced; }

/// A node made from a C++ number: LibTorch promotes types differently with it, so it is no ordinary tensor.
bool is_wrapped_number(const ir::Node& node);

}  // namespace antegrad::passes
