#pragma once
#include <torch/csrc/autograd/function.h>

namespace antegrad::engine {

/// What the type of a node says about it.
enum class NodeKind : uint8_t {
  Other,       ///< runs by itself
  Generated,   ///< of one of LibTorch's ops
  Scales,      ///< of an op of LibTorch that multiplies or divides by a number; see scalars.h
  CopySlices,  ///< a write into a view
  Compiled,    ///< the backward pass of a function that antegrad has compiled
  Function,    ///< of a torch::autograd::Function
  Accumulate,  ///< adds to the .grad of a leaf
};

/// Determined once per type and thread.
NodeKind kind_of(const torch::autograd::Node& node);

/// Returns whether the node, apart from its hooks, can be part of a graph: nodes of LibTorch's ops, writes
/// into views, and nodes of antegrad or the user that support it.
bool can_be_traced(torch::autograd::Node& node, NodeKind kind);

}  // namespace antegrad::engine
