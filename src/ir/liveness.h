#pragma once
#include <cstdint>

#include "ir/graph.h"

namespace antegrad::ir {

/// From when until when something is needed, as positions in an order of execution: nodes of a graph, or
/// steps of a program.
struct Lifetime {
  int32_t first = -1;  ///< what makes it; -1: nothing does, it is an input or a hole
  int32_t last = -1;   ///< the last that makes, reads or writes it; -1: nothing does

  bool is_used() const { return last >= 0; }
  bool operator==(const Lifetime&) const = default;
};

/// The lifetimes of the values of a graph, and of the memory that they are on, over some order of execution.
/// Whoever runs something at a position tells so, in any order. The graph must outlive it.
class Liveness {
 public:
  explicit Liveness(const Graph& graph);
  /// Over the nodes in their order; outputs of the graph are read after the last one.
  static Liveness of_nodes(const Graph& graph);

  void make(ValueId id, int32_t position);
  void use(ValueId id, int32_t position);
  void run(const Node& node, int32_t position);  ///< makes, reads and writes what the node does
  void return_outputs(int32_t position);         ///< reads the outputs of the graph

  const Lifetime& value(ValueId id) const { return values_[id]; }
  /// Of the memory that the value is on: of all values there.
  const Lifetime& storage(ValueId id) const { return storages_[graph_.storage_of(id)]; }

 private:
  const Graph& graph_;
  PerValue<Lifetime> values_;
  PerValue<Lifetime> storages_;  ///< by the value that owns the memory
};

}  // namespace antegrad::ir
