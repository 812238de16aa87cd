#pragma once
#include <cstdint>

#include "ir/graph.h"

namespace antegrad::partition {

/// Where a node of the joint graph may run.
struct NodeClass {
  bool backward_only = false;    ///< depends on a tangent, or has an effect recorded in the backward pass
  bool effectful = false;        ///< random or ordered: runs exactly once, in the pass that recorded it
  bool forward_needed = false;   ///< needed for results or effects of the forward pass
  bool backward_needed = false;  ///< backward_only, and needed for gradients or effects of the backward pass
};

/// What is known about a value of the joint graph before any decision.
struct ValueClass {
  ir::NodeId definition;        ///< the node that defines it; invalid for an input
  int32_t input = -1;           ///< index among the inputs; -1 if it is not an input
  int32_t forward_output = -1;  ///< index of the first such output of the forward graph; -1 if there is none
  bool backward_only = false;   ///< not available in the forward pass
  bool demanded = false;  ///< not backward_only, and read by a backward_only node or returned as a gradient
  bool eager_reads = false;  ///< read by the backward pass of the uncompiled function
  bool eager_detects_writes =
      false;  ///< eager_reads holds for some value on its memory: eager detects writes
  /// Its memory may change before the backward pass: the forward pass overwrites it in the end, or the caller
  /// may write to it without eager detecting that. It is saved as a copy.
  bool needs_copy = false;
  /// Its memory is returned to the caller, so that saving it allocates nothing.
  bool is_returned = false;
};

struct Classes {
  ir::PerNode<NodeClass> nodes;
  ir::PerValue<ValueClass> values;
};

/// What callers may do with their inputs between the passes.
enum class Inputs {
  AsEager,  ///< what eager allows: writes to inputs that it does not read in the backward pass
  Fixed,    ///< nothing: a write to a saved input is an error. Always applies to parameters.
};

/// Throws Error(InvalidArgument) if results of the forward pass depend on tangents.
Classes classify(const ir::Graph& joint, Inputs inputs = Inputs::AsEager);

/// Calls fn(ValueId) for each value that the node reads, including those whose copies it writes.
template <class Fn>
void for_each_read(const ir::Node& node, Fn&& fn) {
  ir::for_each_input(node, fn);
  for (const auto id : node.effects.writes) fn(id);
}

/// Whether the value is an undefined tensor: there is nothing to save or compute, `none` replaces it.
bool is_none(const ir::Graph& graph, ir::ValueId id);

}  // namespace antegrad::partition
