#pragma once
#include <cstdint>
#include <vector>

#include "aot/functionalize.h"
#include "capture/capture.h"
#include "ir/graph.h"

namespace antegrad::compiler {

/// Throws Error(UnsupportedTensor) when the function has effects that a graph of values cannot express: it
/// changes the metadata of inputs, or writes to memory that several of them share. `same_as` holds, per
/// argument, an earlier argument that is the same tensor, or -1.
void check_exportable(const capture::Trace& trace, const std::vector<int32_t>& same_as);

/// Throws Error(UnsupportedTensor) for as_strided with an offset that counts from the start of a larger
/// storage, which the exported graph does not have.
void check_offsets(const capture::Trace& trace, const aot::Signature& signature);

/// Converts the functional graph of a function whose results are separate tensors into a graph whose outputs
/// are its results, the new values of written inputs and the gradients of inputs that require one, all named
/// (graph_signature.h).
ir::Graph make_export_graph(const capture::Trace& trace, aot::FunctionalGraph functional);

}  // namespace antegrad::compiler
