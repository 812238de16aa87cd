#pragma once
#include "ir/graph.h"

namespace antegrad::ir {

/// Dense numbers for the values of a graph in order of definition; what compact() and print() share.
struct Numbering {
  PerValue<ValueId> number;  ///< its new id; not valid: nothing defines or reads it
  PerValue<ValueId> base;    ///< its base by old id, moved to a value that is defined
  /// Old ids, by new ones; values that are read but never defined come last.
  PerValue<ValueId> defined;

  /// Not valid: no value of the graph, or one without a number.
  ValueId number_of(ValueId id) const { return number.contains(id) ? number[id] : ValueId(); }
};
Numbering number_values(const Graph& graph);

}  // namespace antegrad::ir
