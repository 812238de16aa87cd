#include "partition/flow.h"

#include <algorithm>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/range/iterator_range.hpp>

namespace antegrad::partition {
namespace {

using Rows = boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, boost::no_property,
                                                boost::no_property, uint32_t, uint32_t>;
using Arc = boost::graph_traits<Rows>::edge_descriptor;

/// The network with a reverse arc for each edge, as Boost requires. Arcs are sorted by their source vertex.
struct Residual {
  Rows rows;
  std::vector<int64_t> capacity, left;  ///< per arc; `left` is the residual capacity
  std::vector<Arc> reverse;
};

Residual build(const FlowNetwork& network) {
  const auto vertices = network.vertices;
  std::vector<uint32_t> next(vertices + 1);  // next free position for an arc from the vertex
  for (const auto& edge : network.edges) {
    ++next[edge.from.position() + 1];
    ++next[edge.to.position() + 1];
  }
  for (size_t i = 0; i < vertices; ++i) next[i + 1] += next[i];
  const size_t arcs = 2 * network.edges.size();
  Residual out;
  out.capacity.resize(arcs);
  out.left.resize(arcs);
  out.reverse.resize(arcs);
  std::vector<std::pair<uint32_t, uint32_t>> ends(arcs);
  for (const auto& edge : network.edges) {
    const auto from = static_cast<uint32_t>(edge.from.index), to = static_cast<uint32_t>(edge.to.index);
    const uint32_t forth = next[from]++, back = next[to]++;
    ends[forth] = {from, to};
    ends[back] = {to, from};
    out.capacity[forth] = edge.capacity;
    out.reverse[forth] = Arc(to, back);
    out.reverse[back] = Arc(from, forth);
  }
  out.rows = Rows(boost::edges_are_sorted, ends.begin(), ends.end(), static_cast<uint32_t>(vertices));
  return out;
}

template <class T>
auto per_vertex(std::vector<T>& values, const Rows& rows) {
  return boost::make_iterator_property_map(values.begin(), boost::get(boost::vertex_index, rows));
}
template <class T>
auto per_arc(std::vector<T>& values, const Rows& rows) {
  return boost::make_iterator_property_map(values.begin(), boost::get(boost::edge_index, rows));
}

/// The Boykov-Kolmogorov algorithm; push-relabel was slower on every benchmark (docs/partition.md).
void solve(Residual& net) {
  const auto& rows = net.rows;
  const size_t vertices = boost::num_vertices(rows);
  std::vector<Arc> predecessor(vertices);
  std::vector<boost::default_color_type> color(vertices);
  std::vector<int64_t> distance(vertices);
  boost::boykov_kolmogorov_max_flow(rows, per_arc(net.capacity, rows), per_arc(net.left, rows),
                                    per_arc(net.reverse, rows), per_vertex(predecessor, rows),
                                    per_vertex(color, rows), per_vertex(distance, rows),
                                    boost::get(boost::vertex_index, rows),
                                    uint32_t{FlowNetwork::kSource.index}, uint32_t{FlowNetwork::kSink.index});
}

}  // namespace

IdMap<VertexId, bool> sink_side(const FlowNetwork& network) {
  auto net = build(network);
  solve(net);
  const auto number = [&](Arc arc) { return boost::get(boost::edge_index, net.rows, arc); };
  IdMap<VertexId, bool> reaches_sink(network.vertices);
  std::vector<uint32_t> open = {FlowNetwork::kSink.index};
  reaches_sink[FlowNetwork::kSink] = true;
  while (!open.empty()) {
    const auto vertex = open.back();
    open.pop_back();
    for (const auto arc : boost::make_iterator_range(boost::out_edges(vertex, net.rows))) {
      const auto before = boost::target(arc, net.rows);
      const auto id = VertexId::at(before);
      if (reaches_sink[id] || net.left[number(net.reverse[number(arc)])] == 0) continue;
      reaches_sink[id] = true;
      open.push_back(before);
    }
  }
  return reaches_sink;
}

std::vector<VertexId> infinite_path(const FlowNetwork& network) {
  IdMap<VertexId, std::vector<VertexId>> next(network.vertices);
  for (const auto& edge : network.edges)
    if (edge.capacity >= FlowNetwork::kInfinite) next[edge.from].push_back(edge.to);
  IdMap<VertexId, VertexId> before(network.vertices);
  std::vector<VertexId> open = {FlowNetwork::kSource};
  for (size_t i = 0; i < open.size(); ++i)
    for (const auto to : next[open[i]]) {
      if (to == FlowNetwork::kSource || before[to].valid()) continue;
      before[to] = open[i];
      open.push_back(to);
    }
  std::vector<VertexId> path;
  for (auto at = before[FlowNetwork::kSink]; at > FlowNetwork::kSource; at = before[at]) path.push_back(at);
  std::ranges::reverse(path);
  return path;
}

}  // namespace antegrad::partition
