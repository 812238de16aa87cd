#pragma once
#include "ir/graph.h"

namespace antegrad::passes {

/// Gives products of few rows, which read the same transposed matrix again and again (the weight of a cell in
/// a loop), a row-major copy of that matrix: with two threads MKL and oneDNN multiply 16 or 32 rows by a
/// transposed matrix two to three times as slowly. Only on the CPU.
bool row_major_weights(ir::Graph& graph);

}  // namespace antegrad::passes
