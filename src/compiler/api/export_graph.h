#pragma once
#include <cstdint>
#include <vector>

#include "capture/capture.h"
#include "ir/graph.h"

namespace antegrad::compiler {

/// Throws Error(UnsupportedTensor) when the function does to its inputs what a graph of values cannot say: it
/// changes their metadata, or writes to memory that several of them share. `same_as`: per argument an earlier
/// one that is the same tensor, or -1.
void check_exportable(const capture::Trace& trace, const std::vector<int32_t>& same_as);

/// The trace of a function that returns tensors of their own, as a graph whose outputs are its results, the
/// new values of what it writes to and the gradients of what requires one, all named (graph_signature.h).
ir::Graph make_export_graph(const capture::Trace& trace);

}  // namespace antegrad::compiler
