#pragma once
// Facts about sizes that hold for all values of their symbols.
#include <optional>

#include "ir/graph.h"

namespace antegrad::schedule {

/// Returns the exact quotient q with q * b == a, or nothing when there is none.
std::optional<ir::Dim> divided(const ir::Dim& a, const ir::Dim& b);
ir::Range range_of(const ir::Graph& graph, const ir::Dim& dim);
bool is_at_least(const ir::Graph& graph, const ir::Dim& dim, int64_t least);
/// Returns an estimate of a stride for ordering dims. Symbols count as at least 2, so that an outer dim has a
/// larger stride than an inner one.
int64_t likely_stride(const ir::Graph& graph, const ir::Dim& stride);

}  // namespace antegrad::schedule
