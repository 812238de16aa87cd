#pragma once
#include <vector>

#include "ir/graph.h"

namespace antegrad::ir {

/// Dense numbers for the values of a graph in order of definition; what compact() and print() share.
struct Numbering {
  std::vector<int32_t> number;  ///< per value: its new index, -1 when nothing defines or reads it
  std::vector<ValueId> base;    ///< per value: its base by old id, moved to a value that is defined
  std::vector<int32_t>
      defined;  ///< old ids in the new order; values that are read but never defined come last
};
Numbering number_values(const Graph& graph);

}  // namespace antegrad::ir
