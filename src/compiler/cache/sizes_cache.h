#pragma once
#include <optional>

#include "compiler/code/differential.h"
#include "symbolic/shapes.h"

namespace antegrad::compiler {

/// Which symbols a function works for, as found by generalize() in some process. Entries of kind "sizes":
///     "shapes"  symbolic::Shapes, "graph"  ir::Graph over their symbols; as their write() has them
/// Many are kept under one key; the sizes of a call and its graph decide which one serves it.
struct KnownSizes {
  std::optional<Generalized> found;
  bool others = false;  ///< there are some, but for other sizes
};
KnownSizes find_sizes(const CaptureSettings& settings, const Captured& captured,
                      const symbolic::CallShapes& call, const runtime::Ambient& ambient);

void store_sizes(const CaptureSettings& settings, const Generalized& found, const runtime::Ambient& ambient);

}  // namespace antegrad::compiler
