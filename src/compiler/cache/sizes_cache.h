#pragma once
#include <optional>

#include "compiler/code/differential.h"
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
KnownSizes find_sizes(const CaptureSettings& settings, const Captured& captured,
                      const symbolic::CallShapes& call, const runtime::Ambient& ambient);

void store_sizes(const CaptureSettings& settings, const Generalized& found, const runtime::Ambient& ambient);

}  // namespace antegrad::compiler
