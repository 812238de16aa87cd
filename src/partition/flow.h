#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "util/ids.h"

namespace antegrad::partition {

using VertexId = Id<struct VertexTag>;

/// A directed network with integer capacities, one source and one sink.
struct FlowNetwork {
  static constexpr VertexId kSource{0}, kSink{1};
  static constexpr int64_t kInfinite = int64_t{1} << 57;  ///< the sum of finite capacities must be less
  struct Edge {
    VertexId from, to;
    int64_t capacity;
  };
  size_t vertices = 2;  ///< number of vertices
  std::vector<Edge> edges;

  VertexId add_vertex() { return VertexId::at(vertices++); }
  void add_edge(VertexId from, VertexId to, int64_t capacity) { edges.push_back({from, to, capacity}); }
};

/// Returns the sink side of the minimum cut with the fewest vertices on that side. There must be no path of
/// infinite capacity.
IdMap<VertexId, bool> sink_side(const FlowNetwork& network);

/// Returns the inner vertices of a path of infinite capacity from source to sink; empty if there is none.
/// There must be no edge from source to sink.
std::vector<VertexId> infinite_path(const FlowNetwork& network);

}  // namespace antegrad::partition
