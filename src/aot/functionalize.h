#pragma once
#include "aot/signature.h"
#include "capture/capture.h"

namespace antegrad::aot {

struct FunctionalGraph {
  ir::Graph graph;  ///< Stage::Functional, or Stage::Joint when it has a backward pass
  Signature signature;
};

/// Inputs that share memory, one of them written and one with a gradient: to autograd they have to be views
/// of one tensor (capture::ViewInput), or functionalize() refuses them.
std::vector<std::vector<int32_t>> find_shared_gradients(const capture::Trace& trace);

/// Rewrites a trace, in which tensors are views of memory that ops write to, into a graph of values, and
/// works out what has to happen around a run of it so that the caller sees what the traced program would have
/// done: which inputs are written, resized or moved, what each output shares memory with.
FunctionalGraph functionalize(const capture::Trace& trace);

}  // namespace antegrad::aot
