#pragma once
#include <cstdint>
#include <utility>
#include <vector>

namespace antegrad::partition {

/// A directed network with integer capacities and one source and one sink. Vertices are numbers; 0 is the
/// source, 1 the sink.
struct FlowNetwork {
  static constexpr int32_t kSource = 0, kSink = 1;
  static constexpr int64_t kInfinite = int64_t{1} << 57;  ///< finite capacities must add up to less
  struct Edge {
    int32_t from, to;
    int64_t capacity;
  };
  int32_t vertices = 2;
  std::vector<Edge> edges;

  int32_t add_vertex() { return vertices++; }
  void add_edge(int32_t from, int32_t to, int64_t capacity) { edges.push_back({from, to, capacity}); }
};

/// The side of the sink in the minimal cut that has the fewest vertices on that side. There must be no path
/// of infinite capacity.
std::vector<bool> sink_side(const FlowNetwork& network);

/// The vertices of a path of infinite capacity from source to sink, both left out; empty when there is none.
/// No edge may go from source to sink directly.
std::vector<int32_t> infinite_path(const FlowNetwork& network);

}  // namespace antegrad::partition
