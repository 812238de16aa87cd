#pragma once
#include <cstdint>

#include "ir/graph.h"

namespace antegrad::ir {

/// From where to where something is needed, as positions in an order of execution: nodes of a graph or steps
/// of a program.
struct Lifetime {
  int32_t first = -1;  ///< where it is made; -1 for inputs and unused values
  int32_t last = -1;   ///< the last position that makes, reads or writes it; -1 if there is none

  bool is_used() const { return last >= 0; }
  bool operator==(const Lifetime&) const = default;
};

/// The lifetimes of the values of a graph and of their memory, over some order of execution. The caller
/// reports what happens at each position, in any order. The graph must outlive this object.
class Liveness {
 public:
  explicit Liveness(const Graph& graph);
  /// Analyses the nodes in order; the outputs of the graph are read after the last one.
  static Liveness of_nodes(const Graph& graph);

  void make(ValueId id, int32_t position);
  void use(ValueId id, int32_t position);
  void run(const Node& node, int32_t position);  ///< reports what the node makes, reads and writes
  void return_outputs(int32_t position);         ///< reports that the outputs of the graph are read

  const Lifetime& value(ValueId id) const { return values_[id]; }
  /// The lifetime of the memory that the value is on, over all values there.
  const Lifetime& storage(ValueId id) const { return storages_[graph_.storage_of(id)]; }

 private:
  const Graph& graph_;
  PerValue<Lifetime> values_;
  PerValue<Lifetime> storages_;  ///< indexed by the value that owns the memory
};

}  // namespace antegrad::ir
