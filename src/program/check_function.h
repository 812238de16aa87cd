#pragma once
#include "compiler/api/function_graph.h"
#include "program/write_graph.h"

namespace antegrad::program {

/// Runs an exported function and what was written of it, both op by op, and compares results and gradients.
/// In the file, gradients are those of its ops: a NoGradGuard, detach() or a gradient of the user's own
/// inside of the function is not there. Throws Error(UnsupportedOp) if they differ. Random numbers are the
/// same for both, and the generators are as before.
void check_function(const compiler::FunctionGraph& function, const WrittenGraph& written,
                    const std::vector<at::Tensor>& example);

}  // namespace antegrad::program
