#pragma once
#include <vector>

#include "passes/rewrite/builder.h"

namespace antegrad::passes {

/// Where values come from, as far as concatenation looks behind views.
struct Sources {
  const ir::Graph& graph;
  ir::PerValue<ir::NodeId> definition;

  explicit Sources(const ir::Graph& graph);
  /// The matrix that a value is the transpose of, if a view says so; otherwise invalid.
  Value transposed(Value matrix) const;
};

/// Returns the matrices one after the other along `dim` (0 or 1): a view, if they already lie side by side in
/// memory; otherwise a copy, whose rows are contiguous in the way those of the matrices are.
Value concatenated(Builder& b, const Sources& sources, const std::vector<Value>& matrices, int64_t dim);

/// Whether `concatenated()` is a view.
bool lie_side_by_side(const ir::Graph& graph, const std::vector<Value>& matrices, int64_t dim);

}  // namespace antegrad::passes
