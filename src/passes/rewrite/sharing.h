#pragma once
#include <cstdint>

#include "ir/graph.h"

namespace antegrad::passes {

/// Which values share memory, and whose memory is visible outside the graph. Distinguishes two relations,
/// because a pass may merge only values that certainly share memory, and must respect those that possibly do:
/// `root` is what the graph records (Value::base); `group` also joins the output of a view op without a
/// recorded base to the tensor it views.
class Sharing {
 public:
  explicit Sharing(const ir::Graph& graph);

  ir::ValueId root(ir::ValueId id) const;
  bool is_root(ir::ValueId id) const { return root(id) == id; }

  /// The number of graph outputs (of any role that carries tensors) that possibly share memory with the
  /// value.
  int32_t outputs(ir::ValueId id) const { return group(id).outputs; }
  /// The number of graph outputs that are this very value.
  int32_t direct_outputs(ir::ValueId id) const { return direct_[id]; }
  bool is_input(ir::ValueId id) const { return is_input_[id]; }
  /// Whether the caller can write this memory between the forward and the backward half of a joint graph.
  bool caller_writes(ir::ValueId id) const { return group(id).caller_writes; }

  /// Records that the fresh memory of `from` was replaced by the memory of `to`.
  void merge(ir::ValueId from, ir::ValueId to);
  /// Records that the graph outputs that were `from` are now `to`.
  void move_outputs(ir::ValueId from, ir::ValueId to);

 private:
  struct Group {
    ir::ValueId merged_into;  ///< itself, unless merged
    int32_t outputs = 0;
    bool caller_writes = false;
  };
  ir::ValueId find(ir::ValueId id) const;
  const Group& group(ir::ValueId id) const { return groups_[find(id)]; }
  void place(const ir::Graph& graph, ir::ValueId id, ir::ValueId viewed);

  ir::PerValue<ir::ValueId> root_;   ///< of a root: itself, unless merged
  ir::PerValue<ir::ValueId> group_;  ///< the value that represents its group
  ir::PerValue<Group> groups_;       ///< indexed by the value that represents the group
  ir::PerValue<int32_t> direct_;
  ir::PerValue<bool> is_input_;
};

}  // namespace antegrad::passes
