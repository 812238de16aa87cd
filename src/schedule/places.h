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

  const Place& of(ir::ValueId id) const { return places_[id]; }
  ir::ValueId owner(ir::ValueId id) const { return of(id).owner; }
  bool is_view(ir::ValueId id) const { return views_[id].node.valid(); }
  ir::NodeId view_node(ir::ValueId id) const { return views_[id].node; }
  /// What the view is taken of, one step towards its owner.
  ir::ValueId viewed(ir::ValueId id) const { return views_[id].of; }
  bool is_view_node(ir::NodeId node) const { return makes_views_[node]; }
  /// For values that were added to the graph later.
  void add(const ir::Graph& graph, ir::ValueId id);

 private:
  bool makes_views(const ir::Graph& graph, const ir::Node& node) const;
  void grow(size_t values);

  struct View {
    ir::NodeId node;  ///< that makes it; not valid: it is no view
    ir::ValueId of;
  };
  ir::PerValue<Place> places_;
  ir::PerValue<View> views_;
  ir::PerNode<bool> makes_views_;
};

}  // namespace antegrad::schedule
