#pragma once
#include "ir/graph.h"

namespace antegrad::passes {

/// Products of matrices and vectors with at most this many multiplications are written out: fused code beats
/// the call of a library.
inline constexpr int64_t kSmallMatmul = 32768;

/// Writes small mm, addmm, bmm, baddbmm, mv, addmv and dot of f32 and f64 as products and sums.
bool small_matmul(ir::Graph& graph);

}  // namespace antegrad::passes
