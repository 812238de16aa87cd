#pragma once
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace antegrad::schedule {

/// The memory that holds the elements of a value, named by the value that owns it.
struct Place {
  ir::ValueId owner;
  std::vector<ir::Dim> strides;
  ir::Dim offset;  ///< from the owner's first element
};

/// Which values are views of which. Kernels never compute views: readers of a view read the owner's memory,
/// or use the owner's elements as they are computed.
class Places {
 public:
  explicit Places(const ir::Graph& graph);

  const Place& of(ir::ValueId id) const { return places_[id]; }
  ir::ValueId owner(ir::ValueId id) const { return of(id).owner; }
  bool is_view(ir::ValueId id) const { return views_[id].node.valid(); }
  ir::NodeId view_node(ir::ValueId id) const { return views_[id].node; }
  /// Returns the value that the view was taken of, one step towards its owner.
  ir::ValueId viewed(ir::ValueId id) const { return views_[id].of; }
  bool is_view_node(ir::NodeId node) const { return makes_views_[node]; }
  /// Adds a value that was added to the graph later.
  void add(const ir::Graph& graph, ir::ValueId id);

 private:
  bool makes_views(const ir::Graph& graph, const ir::Node& node) const;
  void grow(size_t values);

  struct View {
    ir::NodeId node;  ///< the node that makes the view; not valid for other values
    ir::ValueId of;
  };
  ir::PerValue<Place> places_;
  ir::PerValue<View> views_;
  ir::PerNode<bool> makes_views_;
};

}  // namespace antegrad::schedule
