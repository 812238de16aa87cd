#pragma once
#include <vector>

#include "aot/signature/signature.h"
#include "capture/capture.h"
#include "ir/graph.h"

namespace antegrad::compiler {

/// Returns the slots of the caller's inputs on which the gradients depend, i.e. with respect to which
/// gradients can be differentiated again. `joint` is the graph after the passes, `captured` the graph before
/// them, and `trace` a capture of the function.
std::vector<int32_t> primals_of(const ir::Graph& joint, const ir::Graph& captured,
                                const aot::Signature& signature, const capture::Trace& trace);

/// Returns, per node of autograd's graph that has saved tensors, the tangents that lead to it, as bits;
/// without duplicates. `captured` is the graph before passes.
std::vector<uint64_t> saving_nodes(const ir::Graph& captured);

}  // namespace antegrad::compiler
