#pragma once
#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace antegrad::compiler {

/// An input of which views read beyond the input's own elements (as_strided): its storage must have this many
/// bytes, counted from the input's first element.
struct Reach {
  int32_t input = 0;
  int64_t bytes = 0;
};

/// Returns the inputs of a recorded graph that such views are made of.
std::vector<Reach> reach_of(const ir::Graph& graph);

}  // namespace antegrad::compiler
