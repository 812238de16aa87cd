#include "compiler/function/pieces.h"

#include <algorithm>
#include <set>

namespace antegrad::compiler {
namespace {

/// Per storage, by its root value.
template <class T>
class PerStorage {
 public:
  explicit PerStorage(const ir::Graph& graph) : graph_(graph), all_(graph.values.size(), T()) {}
  typename ir::PerValue<T>::reference operator[](ir::ValueId value) { return all_[graph_.storage_of(value)]; }

 private:
  const ir::Graph& graph_;
  ir::PerValue<T> all_;
};

/// The tensors that exist beyond the stretch and have a history: outputs, and inputs that autograd saw
/// written.
std::set<ir::ValueId> held_with_history(const capture::Stretch& stretch) {
  std::set<ir::ValueId> held;
  for (size_t i = 0; i < stretch.outputs.size(); ++i)
    if (stretch.requires_grad[i]) held.insert(stretch.graph.storage_of(stretch.outputs[i]));
  std::set<ir::ValueId> inputs(stretch.input_values.begin(), stretch.input_values.end());
  for (const auto& node : stretch.graph.nodes)
    for (auto value : node.effects.writes)
      if (const auto root = stretch.graph.storage_of(value);
          node.provenance.sequence >= 0 && inputs.count(root) > 0)
        held.insert(root);
  return held;
}

/// Whether a tensor on another of these storages is computed from the one on `from`, by nodes from `begin` on.
bool leads_to_others(const ir::Graph& graph, ir::ValueId from, size_t begin, const std::set<ir::ValueId>& held) {
  PerStorage<char> reached(graph);
  reached[from] = true;
  for (size_t n = begin; n < graph.nodes.size(); ++n) {
    const auto& node = graph.nodes[n];
    bool reads = false;
    ir::for_each_input(node, [&](ir::ValueId value) { reads |= reached[value] != 0; });
    if (!reads) continue;
    const auto reach = [&](ir::ValueId value) {
      reached[value] = true;
      return graph.storage_of(value) != from && held.count(graph.storage_of(value)) > 0;
    };
    if (std::any_of(node.outputs.begin(), node.outputs.end(), reach)) return true;
    if (std::any_of(node.effects.writes.begin(), node.effects.writes.end(), reach)) return true;
  }
  return false;
}

/// The nodes after which the stretch is cut, in order; the last one ends it.
std::set<size_t> ends_of_pieces(const capture::Stretch& stretch) {
  const auto& graph = stretch.graph;
  std::set<size_t> ends{graph.nodes.size()};
  if (!stretch.histories) return ends;
  PerStorage<size_t> complete(graph);  // number of nodes after which a storage has its final contents
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    for (auto value : graph.nodes[n].outputs)
      if (graph.storage_of(value) == value) complete[value] = n + 1;
    for (auto value : graph.nodes[n].effects.writes) complete[value] = n + 1;
  }
  const auto held = held_with_history(stretch);
  for (auto root : held)
    if (const auto end = complete[root]; end > 0 && leads_to_others(graph, root, end, held)) ends.insert(end);
  return ends;
}

}  // namespace

std::vector<Piece> cut(const capture::Stretch& stretch) {
  const auto& graph = stretch.graph;
  std::vector<Piece> pieces;
  ir::PerValue<size_t> made_in(graph.values.size(), 0);  // number of the piece, from 1; 0 for inputs
  size_t begin = 0;
  for (const auto end : ends_of_pieces(stretch)) {
    auto& piece = pieces.emplace_back().stretch;
    piece.histories = stretch.histories;
    piece.inference = stretch.inference;
    piece.graph.name = graph.name;
    piece.graph.values = graph.values;
    piece.graph.nodes.assign(graph.nodes.begin() + static_cast<std::ptrdiff_t>(begin),
                             graph.nodes.begin() + static_cast<std::ptrdiff_t>(end));
    for (const auto& node : piece.graph.nodes)
      for (auto value : node.outputs) made_in[value] = pieces.size();
    begin = end;
  }
  std::vector<std::set<ir::ValueId>> read(pieces.size());  // from outside the piece
  for (size_t p = 0; p < pieces.size(); ++p)
    for (const auto& node : pieces[p].stretch.graph.nodes)
      ir::for_each_input(node, [&](ir::ValueId value) {
        if (made_in[value] != p + 1) read[p].insert(value);
      });
  for (size_t p = 0; p < pieces.size(); ++p) {
    auto& piece = pieces[p].stretch;
    piece.input_values.assign(read[p].begin(), read[p].end());
    std::set<ir::ValueId> for_later;
    for (size_t later = p + 1; later < pieces.size(); ++later)
      for (auto value : read[later])
        if (made_in[value] == p + 1) for_later.insert(value);
    for (size_t i = 0; i < stretch.outputs.size(); ++i) {
      if (made_in[stretch.outputs[i]] != p + 1) continue;
      for_later.erase(stretch.outputs[i]);
      piece.outputs.push_back(stretch.outputs[i]);
      piece.requires_grad.push_back(stretch.requires_grad[i]);
    }
    pieces[p].outputs_of_call = piece.outputs.size();
    piece.outputs.insert(piece.outputs.end(), for_later.begin(), for_later.end());
    piece.requires_grad.resize(piece.outputs.size());
  }
  return pieces;
}

}  // namespace antegrad::compiler
