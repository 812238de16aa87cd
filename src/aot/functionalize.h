#pragma once
#include "aot/signature/signature.h"
#include "capture/capture.h"

namespace antegrad::aot {

struct FunctionalGraph {
  ir::Graph graph;  ///< Stage::Functional, or Stage::Joint when it has a backward pass
  Signature signature;
};

/// Finds inputs that share memory, one of them written and one with a gradient; also one alone that overlaps
/// itself. Autograd has to see them as views of one tensor (capture::ViewInput), or they are refused.
std::vector<std::vector<int32_t>> find_shared_gradients(const capture::Trace& trace);

/// Rewrites a trace, in which tensors are views of memory that ops write to, into a graph of values.
/// Determines what has to happen around a run of it so that the caller sees the effects of the traced
/// program: which inputs are written, resized or moved, what each output shares memory with.
FunctionalGraph functionalize(const capture::Trace& trace);

}  // namespace antegrad::aot
