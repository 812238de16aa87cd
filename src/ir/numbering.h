#pragma once
#include "ir/graph.h"

namespace antegrad::ir {

/// Dense ids for the values of a graph in order of definition; shared by compact() and print().
struct Numbering {
  PerValue<ValueId> number;  ///< new id by old id; invalid if nothing defines or reads the value
  PerValue<ValueId> base;    ///< old id of the base by old id; replaced if the base is not defined any more
  /// Old id by new id; values that are read but never defined come last.
  PerValue<ValueId> defined;

  /// Returns the new id; invalid for ids that are not in the graph or have no number.
  ValueId number_of(ValueId id) const { return number.contains(id) ? number[id] : ValueId(); }
};
Numbering number_values(const Graph& graph);

}  // namespace antegrad::ir
