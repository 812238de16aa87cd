#pragma once
#include <string>
#include <vector>

#include "ir/graph.h"
#include "symbolic/shapes.h"

namespace antegrad::compiler {

/// A size that has to stay constant.
struct Pinned {
  std::string what;    ///< "tensor 0 size 1"
  std::string reason;  ///< what went wrong at another size
};

/// A program over those symbols that it was found to work for.
struct Generalized {
  symbolic::Shapes shapes;
  ir::Graph graph;  ///< functional or joint, before any pass
  std::vector<Pinned> pinned;
};

}  // namespace antegrad::compiler
