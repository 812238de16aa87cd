#pragma once
#include "ir/graph.h"

namespace antegrad::ir {

/// Records which memory each value is on before the graph is edited, so that views can follow the values they
/// are taken of. Code that replaces values, or gives them memory of their own, updates bases only through
/// this class.
class Storages {
 public:
  explicit Storages(const Graph& before);

  /// Returns the value that the node reads, or defines before `output`, on the memory of `output`; invalid if
  /// there is none, so that the output has its own memory. Node and output are as before the edit.
  ValueId source(const Node& node, ValueId output) const;

  /// Puts `view`, which replaces `output` of the node, on the memory that its source is on now. `map` gives
  /// the replacements of values, where valid.
  void follow(Graph& graph, const Node& node, ValueId output, ValueId view,
              const PerValue<ValueId>& map = {}) const;
  /// The same for all outputs of a node whose sources have already been followed.
  void follow(Graph& graph, const Node& node, const PerValue<ValueId>& map = {}) const;

 private:
  PerValue<ValueId> root_;
  PerValue<Dim> offset_;
};

}  // namespace antegrad::ir
