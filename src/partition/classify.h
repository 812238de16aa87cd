#pragma once
#include <cstdint>

#include "ir/graph.h"

namespace antegrad::partition {

/// Where a node of the joint graph may run.
struct NodeClass {
  bool backward_only = false;    ///< needs a tangent, or an effect that was recorded in the backward pass
  bool effectful = false;        ///< random or ordered: runs exactly once, in the pass that recorded it
  bool forward_needed = false;   ///< results or effects of the forward pass need it
  bool backward_needed = false;  ///< backward_only, and gradients or effects of the backward pass need it
};

/// What is known of a value of the joint graph before anything is decided.
struct ValueClass {
  ir::NodeId definition;        ///< node that defines it; not valid: an input
  int32_t input = -1;           ///< index of the input that it is, -1: none
  int32_t forward_output = -1;  ///< first output of the forward graph that it is, -1: none
  bool backward_only = false;   ///< the forward pass cannot have it
  bool demanded = false;        ///< not backward_only, and read by such nodes, or a gradient
  bool eager_reads = false;     ///< the backward pass of the uncompiled function reads it
  bool eager_watches = false;   ///< eager_reads holds for a value on its memory: eager notices writes
  /// Its memory is no place to keep it: the forward pass overwrites it in the end, or the caller may write to
  /// it before the backward pass, unnoticed by eager. Saved as a copy.
  bool needs_copy = false;
  /// The caller gets its memory as an output, so that saving it allocates nothing.
  bool is_returned = false;
};

struct Classes {
  ir::PerNode<NodeClass> nodes;
  ir::PerValue<ValueClass> values;
};

/// What callers may do with their inputs between the passes.
enum class Inputs {
  AsEager,  ///< what eager allows: inputs it does not read in the backward pass may be written to
  Fixed,    ///< nothing: a write to any of them that is saved is an error. Parameters are always taken so.
};

/// Throws Error(InvalidArgument) when results of the forward pass depend on tangents.
Classes classify(const ir::Graph& joint, Inputs inputs = Inputs::AsEager);

/// Calls fn(ValueId) for each value that the node reads, those it writes copies of included.
template <class Fn>
void for_each_read(const ir::Node& node, Fn&& fn) {
  ir::for_each_input(node, fn);
  for (const auto id : node.effects.writes) fn(id);
}

/// An undefined tensor: nothing to save or compute, `none` stands for it.
bool is_none(const ir::Graph& graph, ir::ValueId id);

}  // namespace antegrad::partition
