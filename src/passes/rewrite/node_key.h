#pragma once
#include <cstddef>
#include <vector>

#include "ir/graph.h"

namespace antegrad::passes {

/// Hash and equality of what nodes compute: op, arguments, attributes, returns and output types, with every
/// value that they read replaced by its number. Ignores provenance and the ids of the nodes' outputs.
class NodeKey {
 public:
  /// Both references must outlive the key.
  NodeKey(const ir::Graph& graph, const ir::PerValue<ir::ValueId>& number) : graph_(graph), number_(number) {}

  size_t hash(const ir::Node& node) const;
  bool equal(const ir::Node& a, const ir::Node& b) const;

 private:
  size_t hash(const ir::Arg& arg) const;
  bool equal(const ir::Arg& a, const ir::Arg& b) const;
  bool equal_outputs(const ir::Node& a, const ir::Node& b) const;
  ir::ValueId number(ir::ValueId id) const { return number_[id]; }

  const ir::Graph& graph_;
  const ir::PerValue<ir::ValueId>& number_;
};

}  // namespace antegrad::passes
