#pragma once
#include <vector>

#include "aot/signature.h"
#include "capture/capture.h"
#include "ir/graph.h"

namespace antegrad::compiler {

/// The caller's inputs that derivatives of the gradients are taken with respect to, as slots.
/// `joint`: after the passes. `captured`: the same function before them. `trace`: of a capture of it.
std::vector<int32_t> primals_of(const ir::Graph& joint, const ir::Graph& captured,
                                const aot::Signature& signature, const capture::Trace& trace);

}  // namespace antegrad::compiler
