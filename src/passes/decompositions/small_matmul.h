#pragma once
#include "ir/graph.h"

namespace antegrad::passes {

/// Products of matrices and vectors with at most this many multiplications are written out: fused code is
/// faster than a library call.
inline constexpr int64_t kSmallMatmul = 32768;

/// Replaces small mm, addmm, bmm, baddbmm, mv, addmv and dot of f32 and f64 by multiplications and sums.
bool small_matmul(ir::Graph& graph);

}  // namespace antegrad::passes
