#include "passes/simplify/common_subexpressions.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "passes/rewrite/node_key.h"
#include "passes/rewrite/rewrite.h"
#include "passes/rewrite/sharing.h"

namespace antegrad::passes {
namespace {

/// aten.empty.memory_format, aten.empty_like, aten.new_empty_strided, aten._empty_affine_quantized, …
bool is_uninitialised(std::string_view op) {
  for (std::string_view prefix : {"aten.empty", "aten.new_empty", "aten._empty"})
    if (op.starts_with(prefix)) return true;
  return false;
}

class Merger {
 public:
  explicit Merger(ir::Graph& graph)
      : graph_(graph),
        sharing_(graph),
        rewrite_(graph),
        key_(graph, number_),
        reads_(reads_by_nodes(graph)),
        read_by_writers_(read_by_writers(graph)) {
    number_.resize(graph.values.size());
    for (const auto id : graph.values.ids()) number_[id] = id;
    table_.reserve(graph.nodes.size());
  }

  bool run() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const auto& node = graph_.nodes[i];
      if (node.effects.none() && !node.outputs.empty() && !is_uninitialised(node.op)) visit(i);
    }
    return rewrite_.apply();
  }

 private:
  /// Nodes that compute the same but could not be merged; the first one provides the numbers.
  using Class = std::vector<size_t>;
  static constexpr size_t kMostPerClass = 8;  ///< limits the time spent on graphs with many equal outputs

  void visit(size_t i) {
    const auto& node = graph_.nodes[i];
    auto& classes = table_[key_.hash(node)];
    for (auto& nodes : classes) {
      const auto& first = graph_.nodes[nodes.front()];
      if (!key_.equal(node, first)) continue;
      for (size_t k = 0; k < node.outputs.size(); ++k) number_[node.outputs[k]] = first.outputs[k];
      for (size_t candidate : nodes) {
        if (fixed(node) || !may_merge(node, graph_.nodes[candidate])) continue;
        graph_.nodes[candidate].provenance.roots |= graph_.nodes[i].provenance.roots;
        merge(i, graph_.nodes[candidate]);
        return;
      }
      if (nodes.size() < kMostPerClass) nodes.push_back(i);
      return;
    }
    classes.push_back({i});
  }

  bool fixed(const ir::Node& node) const {
    return std::ranges::any_of(node.outputs, [&](ir::ValueId id) { return read_by_writers_[id]; });
  }

  /// Whether both nodes return a tensor to the caller, which must remain two tensors.
  bool both_returned(const ir::Node& a, const ir::Node& b) const {
    for (size_t k = 0; k < a.outputs.size(); ++k)
      if (sharing_.direct_outputs(a.outputs[k]) > 0 && sharing_.direct_outputs(b.outputs[k]) > 0) return true;
    return false;
  }

  bool may_merge(const ir::Node& node, const ir::Node& kept) const {
    const bool returned = both_returned(node, kept);
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      if (sharing_.root(node.outputs[k]) == sharing_.root(kept.outputs[k])) continue;
      if (returned || !may_share(node.outputs[k], kept.outputs[k])) return false;
    }
    return true;
  }

  bool may_share(ir::ValueId from, ir::ValueId to) const {
    if (!sharing_.is_root(from) || !sharing_.is_root(to)) return false;
    if (sharing_.outputs(from) > 0 && sharing_.outputs(to) > 0) return false;
    return graph_.stage != ir::Stage::Joint || (!sharing_.caller_writes(from) && !sharing_.caller_writes(to));
  }

  void merge(size_t i, const ir::Node& kept) {
    const auto& node = graph_.nodes[i];
    const bool returned = both_returned(node, kept);
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      const auto from = node.outputs[k], to = kept.outputs[k];
      if (!returned || reads_[from] > 0) rewrite_.replace_in_nodes(from, to);
      if (returned) continue;
      if (sharing_.is_root(from)) sharing_.merge(from, to);
      if (sharing_.direct_outputs(from) > 0) rewrite_.replace_in_outputs(from, to);
      sharing_.move_outputs(from, to);
    }
    if (!returned) rewrite_.erase_node(i);
  }

  ir::Graph& graph_;
  Sharing sharing_;
  Rewrite rewrite_;
  ir::PerValue<ir::ValueId> number_;
  NodeKey key_;
  ir::PerValue<int32_t> reads_;
  ir::PerValue<bool> read_by_writers_;
  std::unordered_map<size_t, std::vector<Class>> table_;
};

}  // namespace

bool common_subexpressions(ir::Graph& graph) { return is_functional(graph) && Merger(graph).run(); }

}  // namespace antegrad::passes
