#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "util/ids.h"

namespace antegrad::partition {

using VertexId = Id<struct VertexTag>;

/// A directed network with integer capacities and one source and one sink.
struct FlowNetwork {
  static constexpr VertexId kSource{0}, kSink{1};
  static constexpr int64_t kInfinite = int64_t{1} << 57;  ///< finite capacities must add up to less
  struct Edge {
    VertexId from, to;
    int64_t capacity;
  };
  size_t vertices = 2;  ///< how many
  std::vector<Edge> edges;

  VertexId add_vertex() { return VertexId::at(vertices++); }
  void add_edge(VertexId from, VertexId to, int64_t capacity) { edges.push_back({from, to, capacity}); }
};

/// The side of the sink in the minimal cut that has the fewest vertices on that side. There must be no path
/// of infinite capacity.
IdMap<VertexId, bool> sink_side(const FlowNetwork& network);

/// The vertices of a path of infinite capacity from source to sink, both left out; empty when there is none.
/// No edge may go from source to sink directly.
std::vector<VertexId> infinite_path(const FlowNetwork& network);

}  // namespace antegrad::partition
