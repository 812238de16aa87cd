#pragma once
#include "ir/graph.h"

namespace antegrad::ir {

/// Which memory each value was on before an edit of the graph, so that views can follow what they are taken
/// of. Whoever replaces values, or gives them memory of their own, keeps bases right by this class alone.
class Storages {
 public:
  explicit Storages(const Graph& before);

  /// What the node reads, or defines earlier, on the memory of its output; not valid: nothing, the output has
  /// memory of its own. Node and output are as they were before the edit.
  ValueId source(const Node& node, ValueId output) const;

  /// Puts `view`, which is now what `output` of the node was, on the memory that its source now has; `map`:
  /// what stands for a value now, where that is valid.
  void follow(Graph& graph, const Node& node, ValueId output, ValueId view,
              const PerValue<ValueId>& map = {}) const;
  /// The same for all outputs of a node whose sources have been followed.
  void follow(Graph& graph, const Node& node, const PerValue<ValueId>& map = {}) const;

 private:
  PerValue<ValueId> root_;
  PerValue<Dim> offset_;
};

}  // namespace antegrad::ir
