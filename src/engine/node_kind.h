#pragma once
#include <torch/csrc/autograd/function.h>

namespace antegrad::engine {

/// What is known of a node by its type alone.
enum class NodeKind : uint8_t {
  Other,       ///< runs as it is
  Generated,   ///< of one of LibTorch's ops
  Scales,      ///< of those, one that multiplies or divides by a number; see scalars.h
  CopySlices,  ///< a write into a view
  Compiled,    ///< the backward pass of a function that antegrad has compiled
  Function,    ///< of a torch::autograd::Function
  Accumulate,  ///< adds to the .grad of a leaf
};

/// Looked at once per type and thread.
NodeKind kind_of(const torch::autograd::Node& node);

/// Whether the node, but for its hooks, can be part of a graph: nodes of LibTorch's ops, writes into views,
/// and what antegrad or the user has made such that it can be.
bool can_be_traced(torch::autograd::Node& node, NodeKind kind);

}  // namespace antegrad::engine
