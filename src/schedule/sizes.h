#pragma once
// What holds of sizes for all values that their symbols may have.
#include <optional>

#include "ir/graph.h"

namespace antegrad::schedule {

/// The quotient where it is a whole one: divided(a, b) * b == a.
std::optional<ir::Dim> divided(const ir::Dim& a, const ir::Dim& b);
ir::Range range_of(const ir::Graph& graph, const ir::Dim& dim);
bool is_at_least(const ir::Graph& graph, const ir::Dim& dim, int64_t least);
/// A likely stride: that of an outer dim is larger than that of an inner one even where it need not be.
int64_t likely_stride(const ir::Graph& graph, const ir::Dim& stride);

}  // namespace antegrad::schedule
