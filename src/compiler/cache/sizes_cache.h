#pragma once
#include <optional>

#include "compiler/cache/function_key.h"
#include "compiler/plan/generalized.h"
#include "symbolic/shapes.h"

namespace antegrad::compiler {

/// Symbols for which a function was found to work by generalize(), possibly in another process. Entries are
/// of kind "sizes", with the sections
///     "shapes"  symbolic::Shapes  and  "graph"  ir::Graph over their symbols, as written by their write()
/// There may be several under one key; the sizes and the graph of a call decide which of them serves it.
struct KnownSizes {
  std::optional<Generalized> found;
  bool others = false;  ///< whether there are entries for other sizes
};
/// `graph`: of a capture at the sizes of the call.
KnownSizes find_sizes(const PlanSettings& settings, const ir::Graph& graph, const symbolic::CallShapes& call,
                      const KeyFacts& facts);

void store_sizes(const PlanSettings& settings, const Generalized& found, const KeyFacts& facts);

}  // namespace antegrad::compiler
