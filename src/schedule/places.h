#pragma once
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace antegrad::schedule {

/// Where the elements of a value are: in the memory of another one, which owns it.
struct Place {
  ir::ValueId owner;
  std::vector<ir::Dim> strides;
  ir::Dim offset;  ///< from the owner's first element
};

/// Which values are views of which. Views are never computed by kernels: they read the owner's memory, or
/// take the owner's elements as they are computed.
class Places {
 public:
  explicit Places(const ir::Graph& graph);

  const Place& of(ir::ValueId id) const { return places_[static_cast<size_t>(id.index)]; }
  ir::ValueId owner(ir::ValueId id) const { return of(id).owner; }
  bool is_view(ir::ValueId id) const { return view_node_[static_cast<size_t>(id.index)] >= 0; }
  int32_t view_node(ir::ValueId id) const { return view_node_[static_cast<size_t>(id.index)]; }
  /// What the view is taken of, one step towards its owner.
  ir::ValueId viewed(ir::ValueId id) const { return viewed_[static_cast<size_t>(id.index)]; }
  bool is_view_node(int32_t node) const { return view_nodes_[static_cast<size_t>(node)]; }
  /// For values that were added to the graph later.
  void add(const ir::Graph& graph, ir::ValueId id);

 private:
  bool makes_views(const ir::Graph& graph, const ir::Node& node) const;
  void grow(size_t values);

  std::vector<Place> places_;
  std::vector<int32_t> view_node_;
  std::vector<ir::ValueId> viewed_;
  std::vector<bool> view_nodes_;
};

}  // namespace antegrad::schedule
